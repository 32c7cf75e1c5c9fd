// An operator that is nothing but a row, tests/outside/row.def, in a copy of the table: it is
// validated, listed and computed. See tests/outside/CMakeLists.txt.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attribute_settings.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/op_table.h"
#include "kernels/validate.h"
#include "opserve/half.h"
#include "server/service/catalogue.h"
#include "tests/testing/request_builder.h"

namespace opserve {
namespace {

using opserve::testing::RequestBuilder;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum DataType;

constexpr char kName[] = "ELEMENT_WISE_ZONE";

TEST(OutsideTest, TheTableHasOneOperatorMore) {
  EXPECT_EQ(OpTable().size(), 93u);
  const OpTraits* const op = FindOperator(kName);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->family, OpFamily::kArithmetic);
  EXPECT_THAT(NearestOperators("ELEMENT_WISE_ZOME"), ElementsAre(kName));
  // Those in front of it and behind it are what they were.
  EXPECT_NE(FindOperator("ELEMENT_WISE_ADD"), nullptr);
  EXPECT_EQ(TraitsOf(OpId::ACTIVATION_SOFTMAX).name, "ACTIVATION_SOFTMAX");
}

TEST(OutsideTest, ConformanceTestsTryItsAttributes) {
  EXPECT_GT(SettingCount(*FindOperator(kName), kFloat32), 5);
}

TEST(OutsideTest, CallsAreValidated) {
  RequestBuilder good(kName);
  good.Float("Threshold", 1).Float("Level", 0.5).Input({kFloat32, {2, 3}});
  const ValidationResult valid = good.Validate();
  EXPECT_THAT(valid.violations, IsEmpty());
  ASSERT_NE(valid.invocation, nullptr);
  EXPECT_EQ(TraitsOf(valid.invocation->op).name, kName);

  RequestBuilder incomplete(kName);
  incomplete.Float("Threshold", 1).Input({kFloat32, {2, 3}});
  EXPECT_THAT(incomplete.Validate().violations,
              ElementsAre(Field(&Violation::description, HasSubstr("Level"))));
  RequestBuilder integers(kName);
  integers.Float("Threshold", 1).Float("Level", 0.5).Input({kInt32, {2, 3}});
  EXPECT_THAT(integers.Validate().violations,
              ElementsAre(Field(&Violation::description, HasSubstr("INT32"))));
  RequestBuilder early(kName);
  early.Level("5_0").Float("Threshold", 1).Float("Level", 0.5).Input({kFloat32, {2, 3}});
  EXPECT_THAT(early.Validate().violations,
              ElementsAre(Field(&Violation::description, HasSubstr("5_1"))));
}

TEST(OutsideTest, TheServerListsIt) {
  v1::ListOperatorsRequest request;
  v1::ListOperatorsResponse all;
  ASSERT_TRUE(ListOperators(request, all).ok());
  EXPECT_EQ(all.operators_size(), 93);
  request.set_name(kName);
  v1::ListOperatorsResponse one;
  ASSERT_TRUE(ListOperators(request, one).ok());
  ASSERT_EQ(one.operators_size(), 1);
  const v1::OperatorInfo& info = one.operators(0);
  EXPECT_THAT(info.formula(), HasSubstr("Threshold ? Level"));
  ASSERT_EQ(info.attributes_size(), 2);
  EXPECT_EQ(info.attributes(0).name(), "Threshold");
  EXPECT_EQ(info.attributes(1).kind(), "float");
  EXPECT_EQ(info.introduced(), "5_1");
}

// Runs the kernel of a valid call of elements of T, with Threshold 1.5 and Level -2.
template <class T>
std::vector<T> Computed(DataType type, const std::vector<T>& x) {
  RequestBuilder builder(kName);
  builder.Float("Threshold", 1.5).Float("Level", -2);
  builder.Input({type, {static_cast<uint32_t>(x.size())}});
  const ValidationResult valid = builder.Validate();
  EXPECT_THAT(valid.violations, IsEmpty());
  const cpu::FlatKernel kernel = cpu::GetKernel(valid.invocation->op, {type, type});
  EXPECT_NE(kernel, nullptr);
  std::vector<T> results(x.size());
  const auto* const input = reinterpret_cast<const std::byte*>(x.data());
  kernel(&input, reinterpret_cast<std::byte*>(results.data()), x.size(), cpu::StoreMode::kCached,
         valid.invocation->attributes);
  return results;
}

TEST(OutsideTest, TheProcessorComputesIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0, -1, 1.4999999f, 1.5f, -1.5f, 1.6f, -3, kInfinity, 1e-40f};
  const std::vector<float> expected = {-2, -2, -2, 1.5f, -1.5f, 1.6f, -3, kInfinity, -2};
  EXPECT_EQ(Computed(kFloat32, x), expected);

  std::vector<Half> halves;
  std::vector<Half> expected_halves;
  for (const float value : x) halves.emplace_back(value);
  for (const Half half : halves) {
    const float value = static_cast<float>(half);
    expected_halves.emplace_back(std::abs(value) < 1.5f ? -2 : value);
  }
  EXPECT_EQ(Computed(kFloat16, halves), expected_halves);
}

}  // namespace
}  // namespace opserve
