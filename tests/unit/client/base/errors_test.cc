// Details of errors, from the bytes of the trailer to the decoded facts.

#include "opserve/errors.h"

#include "client/base/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/rpc/status.pb.h"

namespace opserve {
namespace {

using client_internal::MakeStatus;
using client_internal::SetErrorHost;
using client_internal::SetOtherHosts;
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

TEST(ErrorsTest, DescribesEverythingThatAnErrorTells) {
  rpc::BadRequest request;
  auto* violation = request.add_field_violations();
  violation->set_field("inputs[0].sizes[1]");
  violation->set_description("0; at least 1 is needed");
  request.add_field_violations()->set_description("the whole is wrong");
  rpc::ErrorInfo info;
  info.set_reason("INVALID_REQUEST");
  (*info.mutable_metadata())["limit"] = "8";
  (*info.mutable_metadata())["host"] = "x";
  rpc::ResourceInfo resource;
  resource.set_resource_type("operator");
  resource.set_resource_name("ROUNDS");
  resource.set_description("did you mean ROUND?");
  rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(1500000);
  rpc::Status details;
  AddDetail(details, "type.googleapis.com/google.rpc.ErrorInfo", info);
  AddDetail(details, "type.googleapis.com/google.rpc.BadRequest", request);
  AddDetail(details, "type.googleapis.com/google.rpc.ResourceInfo", resource);
  AddDetail(details, "type.googleapis.com/google.rpc.RetryInfo", retry);
  EXPECT_EQ(Describe(MakeStatus(kInvalidArgument, "no", details.SerializeAsString())),
            "INVALID_ARGUMENT: no (INVALID_REQUEST)\n"
            "  - inputs[0].sizes[1]: 0; at least 1 is needed\n"
            "  - the whole is wrong\n"
            "  operator 'ROUNDS': did you mean ROUND?\n"
            "  host: x\n"
            "  limit: 8\n"
            "  try again in 1.5ms");
  EXPECT_EQ(Describe(absl::UnavailableError("gone")), "UNAVAILABLE: gone");
  EXPECT_EQ(Describe(absl::OkStatus()), "OK");
}

TEST(ErrorsTest, DescribesWhichHostsSaidWhat) {
  absl::Status status = absl::UnavailableError("gone");
  SetErrorHost(status, "a:1");
  SetOtherHosts(status, {"b:2: OPERATOR_NOT_FOUND", "c:3: UNIMPLEMENTED"});
  EXPECT_THAT(GetOtherHosts(status), ElementsAre("b:2: OPERATOR_NOT_FOUND", "c:3: UNIMPLEMENTED"));
  EXPECT_EQ(Describe(status),
            "UNAVAILABLE: gone\n"
            "  said by: a:1\n"
            "  other host: b:2: OPERATOR_NOT_FOUND\n"
            "  other host: c:3: UNIMPLEMENTED");
}

TEST(ErrorsTest, ErrorsWithoutDetailsSayNothing) {
  for (const char* details : {"", "\xff\xff garbage"}) {
    const absl::Status status = MakeStatus(kInvalidArgument, "no", details);
    EXPECT_EQ(status, absl::InvalidArgumentError("no"));
    EXPECT_THAT(GetViolations(status), IsEmpty());
    EXPECT_EQ(GetErrorReason(status), "");
    EXPECT_EQ(GetRetryDelay(status), std::nullopt);
    EXPECT_THAT(GetOtherHosts(status), IsEmpty());
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
