#include "server/errors/errors.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc/rpc_status.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<Violation> Violations(size_t count, const std::string& description) {
  std::vector<Violation> violations;
  for (size_t i = 0; i < count; ++i) {
    violations.push_back({"inputs[" + std::to_string(i) + "]", description});
  }
  return violations;
}

TEST(ErrorsTest, EveryReasonHasNameCodeAndMeaning) {
  for (ErrorReason reason : kAllErrorReasons) {
    const absl::Status status = MakeError(reason, "text", {{"key", "value"}});
    EXPECT_EQ(status.code(), CodeOf(reason));
    EXPECT_FALSE(status.ok());
    const auto info = Detail<rpc::ErrorInfo>(status, kErrorInfoUrl);
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->domain(), "opserve");
    EXPECT_EQ(info->metadata().at("key"), "value");
    EXPECT_EQ(ErrorReasonFromName(info->reason()), reason);
    EXPECT_FALSE(MeaningOf(reason).empty());
  }
  EXPECT_EQ(ErrorReasonFromName("NO_SUCH_REASON"), std::nullopt);
}

TEST(ErrorsTest, RetryDelaysKeepTheirLength) {
  const absl::Status status =
      MakeRetryableError(ErrorReason::DRAINING, "text", std::chrono::milliseconds(2050));
  const auto retry = Detail<rpc::RetryInfo>(status, kRetryInfoUrl);
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->retry_delay().seconds(), 2);
  EXPECT_EQ(retry->retry_delay().nanos(), 50'000'000);
}

TEST(ErrorsTest, AnUnknownOperatorAloneIsNotFound) {
  const auto one = Violations(1, "There is no operator.");
  const absl::Status alone = MakeViolationError(one, "FOO");
  EXPECT_EQ(alone.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(alone), "OPERATOR_NOT_FOUND");
  EXPECT_EQ(Detail<rpc::ResourceInfo>(alone, kResourceInfoUrl)->resource_name(), "FOO");

  const auto two = Violations(2, "Wrong.");
  const absl::Status among_others = MakeViolationError(two, "FOO");
  EXPECT_EQ(among_others.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(among_others), "INVALID_REQUEST");

  const absl::Status known = MakeViolationError(one, "");
  EXPECT_EQ(known.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(known.GetPayload(kResourceInfoUrl).has_value());
}

TEST(ErrorsTest, ListsSixteenViolationsAndCountsTheRest) {
  const auto exactly = Violations(16, "Wrong.");
  const auto more = Violations(40, "Wrong.");
  const auto listed = Detail<rpc::BadRequest>(MakeViolationError(exactly, ""), kBadRequestUrl);
  EXPECT_THAT(listed->field_violations(), SizeIs(16));
  const auto capped = Detail<rpc::BadRequest>(MakeViolationError(more, ""), kBadRequestUrl);
  ASSERT_THAT(capped->field_violations(), SizeIs(17));
  EXPECT_EQ(capped->field_violations(16).description(), "24 more violations.");
}

// gRPC may refuse to send more than 8 KiB of metadata; on the wire details grow by a third.
TEST(ErrorsTest, StaysSmallWhateverTheClientSent) {
  std::vector<Violation> violations = Violations(1000, std::string(100'000, 'x'));
  for (Violation& violation : violations) violation.field = std::string(1000, 'f');
  const grpc::Status status =
      ToGrpcStatus(MakeViolationError(violations, std::string(100'000, 'o')));
  EXPECT_LE(status.error_details().size() * 4 / 3 + status.error_message().size(), 7'500u);
}

TEST(RpcStatusTest, CarriesCodeMessageAndDetailsInOrder) {
  const auto violations = Violations(1, "There is no operator.");
  const grpc::Status status = ToGrpcStatus(MakeViolationError(violations, "FOO"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("There is no operator."));
  rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(details.message(), status.error_message());
  ASSERT_THAT(details.details(), SizeIs(3));
  EXPECT_EQ(details.details(0).type_url(), kErrorInfoUrl);
  EXPECT_EQ(details.details(1).type_url(), kBadRequestUrl);
  EXPECT_EQ(details.details(2).type_url(), kResourceInfoUrl);
}

TEST(RpcStatusTest, OkStaysOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok()); }

}  // namespace
}  // namespace opserve::testing
