// Details of errors, from the bytes of the trailer to the decoded facts.

#include "opserve/errors.h"

#include "client/base/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/rpc/status.pb.h"

namespace opserve {
namespace {

using client_internal::MakeStatus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kInvalidArgument = 3;
constexpr int kResourceExhausted = 8;

void AddDetail(rpc::Status& status, absl::string_view url,
               const google::protobuf::Message& detail) {
  google::protobuf::Any* any = status.add_details();
  any->set_type_url(std::string(url));
  detail.SerializeToString(any->mutable_value());
}

TEST(ErrorsTest, DecodesEveryViolationAndTheReason) {
  rpc::BadRequest request;
  for (const char* field : {"inputs[0].sizes[1]", "attributes[0].value"}) {
    auto* violation = request.add_field_violations();
    violation->set_field(field);
    violation->set_description("is wrong");
  }
  rpc::ErrorInfo info;
  info.set_reason("INVALID_REQUEST");
  rpc::Status details;
  AddDetail(details, "type.googleapis.com/google.rpc.BadRequest", request);
  AddDetail(details, "type.googleapis.com/google.rpc.ErrorInfo", info);

  const absl::Status status = MakeStatus(kInvalidArgument, "no", details.SerializeAsString());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no");
  EXPECT_THAT(GetViolations(status),
              ElementsAre(FieldViolation{"inputs[0].sizes[1]", "is wrong"},
                          FieldViolation{"attributes[0].value", "is wrong"}));
  EXPECT_EQ(GetErrorReason(status), "INVALID_REQUEST");
  EXPECT_EQ(GetRetryDelay(status), std::nullopt);
}

TEST(ErrorsTest, DecodesTheRetryDelay) {
  rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(5000000);
  rpc::Status details;
  AddDetail(details, "type.googleapis.com/google.rpc.RetryInfo", retry);
  const absl::Status status = MakeStatus(kResourceExhausted, "full", details.SerializeAsString());
  EXPECT_EQ(GetRetryDelay(status), absl::Milliseconds(2005));
}

TEST(ErrorsTest, ANegativeRetryDelayCountsAsNone) {
  rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(-7);
  rpc::Status details;
  AddDetail(details, "type.googleapis.com/google.rpc.RetryInfo", retry);
  const absl::Status status = MakeStatus(kResourceExhausted, "full", details.SerializeAsString());
  EXPECT_EQ(GetRetryDelay(status), absl::ZeroDuration());
}

TEST(ErrorsTest, ErrorsWithoutDetailsSayNothing) {
  for (const char* details : {"", "\xff\xff garbage"}) {
    const absl::Status status = MakeStatus(kInvalidArgument, "no", details);
    EXPECT_EQ(status, absl::InvalidArgumentError("no"));
    EXPECT_THAT(GetViolations(status), IsEmpty());
    EXPECT_EQ(GetErrorReason(status), "");
    EXPECT_EQ(GetRetryDelay(status), std::nullopt);
  }
}

TEST(ErrorsTest, OkHasNoDetails) {
  rpc::ErrorInfo info;
  info.set_reason("X");
  rpc::Status details;
  AddDetail(details, "type.googleapis.com/google.rpc.ErrorInfo", info);
  const absl::Status status = MakeStatus(0, "", details.SerializeAsString());
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(GetErrorReason(status), "");
}

}  // namespace
}  // namespace opserve
