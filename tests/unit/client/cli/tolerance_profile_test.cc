// The tolerances of profiles.

#include "client/cli/arguments/tolerance_profile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ToleranceProfileTest, WebnnHasUlpAbsoluteAndExactRows) {
  const auto of = [](absl::string_view name, DataType type) {
    const absl::StatusOr<Tolerance> tolerance = ToleranceOf(ToleranceProfile::kWebnn, name, type);
    EXPECT_TRUE(tolerance.ok()) << tolerance.status();
    return tolerance.value_or(Tolerance());
  };
  EXPECT_EQ(of("ELEMENT_WISE_DIVIDE", DataType::kFloat16), (Tolerance{.ulp = 2}));
  EXPECT_EQ(of("ACTIVATION_SIGMOID", DataType::kFloat32), (Tolerance{.ulp = 34}));
  EXPECT_EQ(of("ACTIVATION_SIGMOID", DataType::kFloat16), (Tolerance{.ulp = 10}));
  EXPECT_EQ(of("ELEMENT_WISE_COS", DataType::kFloat16), (Tolerance{.absolute = 1.0 / 512}));
  EXPECT_EQ(of("ELEMENT_WISE_SUBTRACT", DataType::kInt64), Tolerance());
  EXPECT_EQ(of("ELEMENT_WISE_LOGICAL_XOR", DataType::kUint8), Tolerance());
}

TEST(ToleranceProfileTest, WhatHasNoRowIsTold) {
  EXPECT_THAT(ComplaintAbout(ToleranceProfile::kWebnn, "ELEMENT_WISE_ADD"), IsEmpty());
  EXPECT_THAT(ComplaintAbout(ToleranceProfile::kNone, "NONE"), IsEmpty());
  EXPECT_EQ(ComplaintAbout(ToleranceProfile::kWebnn, "NONE"),
            "--profile webnn has no tolerance for NONE; give one with --max-ulp");
  const absl::Status status =
      ToleranceOf(ToleranceProfile::kWebnn, "ELEMENT_WISE_ADD", DataType::kFloat64).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(), HasSubstr("ELEMENT_WISE_ADD with results of FLOAT64"));
}

}  // namespace
}  // namespace opserve::cli
