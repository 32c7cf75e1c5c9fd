// Which errors are about the host, and not about the call.

#include "client/rpc/host_refusal.h"

#include "gtest/gtest.h"
#include "opserve/error_reasons.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using testing::Exhausted;
using testing::Invalid;
using testing::WithReason;

TEST(HostRefusalTest, TheReasonTells) {
  for (const ErrorReason reason : kAllErrorReasons) {
    const bool lacks =
        reason == ErrorReason::OPERATOR_NOT_FOUND || reason == ErrorReason::DEVICE_UNAVAILABLE ||
        reason == ErrorReason::REQUEST_TOO_LARGE || reason == ErrorReason::RESPONSE_TOO_LARGE ||
        reason == ErrorReason::REQUEST_EXCEEDS_BUDGET;
    const absl::Status status = WithReason(absl::Status(CodeOf(reason), "no"), NameOf(reason));
    EXPECT_EQ(HostRefusalOf(status), lacks ? HostRefusal::kCertain : HostRefusal::kNone) << status;
  }
}

TEST(HostRefusalTest, OfInvalidRequestsTheOperatorAndTheLevel) {
  for (const char* field : {"operator", "feature_level", "steps[2].operator"}) {
    EXPECT_EQ(HostRefusalOf(Invalid(field)), HostRefusal::kCertain) << field;
  }
  for (const char* field : {"", "inputs[0].sizes", "attributes[0].name", "operator_name", "x."}) {
    EXPECT_EQ(HostRefusalOf(Invalid(field)), HostRefusal::kNone) << field;
  }
}

TEST(HostRefusalTest, GrpcGivesNoReasons) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "no");
    const bool is_perhaps = absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
    EXPECT_EQ(HostRefusalOf(status), is_perhaps ? HostRefusal::kPerhaps : HostRefusal::kNone)
        << status;
  }
}

TEST(HostRefusalTest, WhatIsToComeIsNotLacking) {
  const absl::Status starting = WithReason(Exhausted(absl::Seconds(1)), "DEVICE_UNAVAILABLE");
  EXPECT_EQ(HostRefusalOf(starting), HostRefusal::kNone);
}

}  // namespace
}  // namespace opserve::client_internal
