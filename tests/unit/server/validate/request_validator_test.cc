#include "server/validate/request_validator.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/payload_views.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kMaxMessageBytes = 1 << 20;

v1::ExecuteRequest Round(uint32_t elements) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  v1::Attribute& mode = *request.add_attributes();
  mode.set_name("RoundingMode");
  mode.set_int_value(2);
  v1::TensorDesc& input = *request.add_inputs();
  input.set_data_type(v1::DATA_TYPE_FLOAT32);
  input.add_sizes(elements);
  request.add_payloads(std::string(elements * 4, '\0'));
  return request;
}

class RequestValidatorTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Invocation>> Validate(const v1::ExecuteRequest& request) {
    return validator_.Validate(HeaderOf(request, PayloadBytesOf(request)));
  }
  int ViolationCount(const v1::ExecuteRequest& request) {
    const auto detail = Detail<rpc::BadRequest>(Validate(request).status(), kBadRequestUrl);
    return detail ? detail->field_violations_size() : 0;
  }

  RequestValidator validator_{ValidationLimits(), kMaxMessageBytes, 64,
                              [this] { return gpu_presence_; }};
  GpuPresence gpu_presence_ = GpuPresence::kNone;
};

TEST_F(RequestValidatorTest, MakesTheCall) {
  const auto invocation = Validate(Round(3));
  ASSERT_TRUE(invocation.ok());
  EXPECT_EQ((*invocation)->op, OpId::ELEMENT_WISE_ROUND);
  EXPECT_EQ((*invocation)->mode(), 2);
  EXPECT_EQ((*invocation)->output_bytes, 12u);
}

TEST_F(RequestValidatorTest, RemembersCallsWhateverTheirIds) {
  v1::ExecuteRequest request = Round(3);
  const auto first = Validate(request);
  request.set_request_id("other");
  request.set_device(v1::DEVICE_PREFERENCE_CPU);
  request.set_payloads(0, std::string(12, 'x'));
  EXPECT_EQ(*Validate(request), *first);
  EXPECT_NE(*Validate(Round(4)), *first);
  EXPECT_EQ(validator_.cached(), 2u);
}

TEST_F(RequestValidatorTest, AGpuMayBeAskedForWhereThereIsOne) {
  gpu_presence_ = GpuPresence::kThere;
  v1::ExecuteRequest request = Round(3);
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_TRUE(Validate(request).ok());
}

TEST_F(RequestValidatorTest, AGpuMayBeAskedForAgainWhileItStarts) {
  gpu_presence_ = GpuPresence::kStarting;
  v1::ExecuteRequest request = Round(3);
  EXPECT_TRUE(Validate(request).ok());
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  const absl::Status status = Validate(request).status();
  EXPECT_EQ(ReasonOf(status), "DEVICE_UNAVAILABLE");
  EXPECT_TRUE(MayRetry(status));
  gpu_presence_ = GpuPresence::kNone;
  EXPECT_FALSE(MayRetry(Validate(request).status()));
}

TEST_F(RequestValidatorTest, UnknownPrioritiesAreNamed) {
  v1::ExecuteRequest request = Round(3);
  request.set_priority(static_cast<v1::Priority>(9));
  const auto detail = Detail<rpc::BadRequest>(Validate(request).status(), kBadRequestUrl);
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->field_violations_size(), 1);
  EXPECT_EQ(detail->field_violations(0).field(), "priority");
  EXPECT_THAT(detail->field_violations(0).description(), ::testing::HasSubstr("9"));
}

TEST_F(RequestValidatorTest, RemembersNoFailures) {
  v1::ExecuteRequest request = Round(3);
  request.set_payloads(0, "short");
  EXPECT_FALSE(Validate(request).ok());
  EXPECT_FALSE(Validate(request).ok());
  EXPECT_EQ(validator_.cached(), 0u);
}

TEST_F(RequestValidatorTest, ChecksTheEnvelopeOfRememberedCalls) {
  v1::ExecuteRequest request = Round(3);
  ASSERT_TRUE(Validate(request).ok());
  request.set_request_id(std::string(128, 'x'));
  EXPECT_TRUE(Validate(request).ok());
  request.set_request_id(std::string(129, 'x'));
  request.set_device(static_cast<v1::DevicePreference>(-1));
  EXPECT_EQ(ReasonOf(Validate(request).status()), "INVALID_REQUEST");
  EXPECT_EQ(ViolationCount(request), 2);
}

TEST_F(RequestValidatorTest, AddsEnvelopeFaultsToTheOthers) {
  v1::ExecuteRequest request = Round(3);
  request.set_operator_("ELEMENT_WISE_ROUNT");
  EXPECT_EQ(ReasonOf(Validate(request).status()), "OPERATOR_NOT_FOUND");
  request.set_device(static_cast<v1::DevicePreference>(4));
  EXPECT_EQ(ReasonOf(Validate(request).status()), "INVALID_REQUEST");
  EXPECT_EQ(ViolationCount(request), 2);
}

TEST_F(RequestValidatorTest, ReportsFaultsBeforeTheMissingDevice) {
  v1::ExecuteRequest request = Round(3);
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_EQ(ReasonOf(Validate(request).status()), "DEVICE_UNAVAILABLE");
  request.clear_payloads();
  EXPECT_EQ(ReasonOf(Validate(request).status()), "INVALID_REQUEST");
}

TEST_F(RequestValidatorTest, RefusesResponsesAboveTheMessageLimit) {
  constexpr auto kLargest = static_cast<uint32_t>((kMaxMessageBytes - kMaxResponseHeaderBytes) / 4);
  EXPECT_TRUE(Validate(Round(kLargest)).ok());
  const v1::ExecuteRequest larger = Round(kLargest + 1);
  EXPECT_EQ(ReasonOf(Validate(larger).status()), "RESPONSE_TOO_LARGE");
  const std::vector<uint64_t> payload_bytes = PayloadBytesOf(larger);
  RequestHeader header = HeaderOf(larger, payload_bytes);
  header.answers_in_one_message = false;
  EXPECT_TRUE(validator_.Validate(header).ok());
}

TEST(RequestValidatorLimitTest, WhatIsNotHeldIsRememberedAndMayBeLargerThanOthers) {
  RequestValidator validator({.max_tensor_bytes = 1024}, kMaxMessageBytes, 64, nullptr);
  const auto validate = [&validator](const v1::ExecuteRequest& request, bool holds_tensors) {
    const std::vector<uint64_t> payload_bytes = PayloadBytesOf(request);
    RequestHeader header = HeaderOf(request, payload_bytes);
    header.holds_tensors = holds_tensors;
    return validator.Validate(header);
  };
  const v1::ExecuteRequest largest = Round(256);
  const auto first = validate(largest, /*holds_tensors=*/false);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*validate(largest, /*holds_tensors=*/true), *first);
  const v1::ExecuteRequest larger = Round(257);
  EXPECT_TRUE(validate(larger, /*holds_tensors=*/false).ok());
  EXPECT_EQ(ReasonOf(validate(larger, /*holds_tensors=*/true).status()), "INVALID_REQUEST");
  EXPECT_TRUE(validate(larger, /*holds_tensors=*/false).ok());
  EXPECT_EQ(validator.cached(), 2u);
}

// Whichever of its tensors is the largest.
TEST(RequestValidatorLimitTest, WhatIsHeldIsNotLargeBecauseItIsRemembered) {
  v1::ExecuteRequest large_input = Round(300);
  large_input.set_operator_("ELEMENT_WISE_IS_NAN");
  large_input.clear_attributes();
  v1::ExecuteRequest large_output = Round(200);
  large_output.mutable_output()->add_strides(2);
  for (const v1::ExecuteRequest& request : {large_input, large_output}) {
    RequestValidator validator({.max_tensor_bytes = 1024}, kMaxMessageBytes, 64, nullptr);
    const std::vector<uint64_t> payload_bytes = PayloadBytesOf(request);
    RequestHeader header = HeaderOf(request, payload_bytes);
    header.holds_tensors = false;
    EXPECT_TRUE(validator.Validate(header).ok());
    EXPECT_EQ(validator.cached(), 1u);
    header.holds_tensors = true;
    EXPECT_EQ(ReasonOf(validator.Validate(header).status()), "INVALID_REQUEST");
  }
}

TEST(CheckResponseTest, HeadersMustFitToo) {
  EXPECT_TRUE(CheckResponse(90, 10, 100).ok());
  EXPECT_TRUE(CheckResponse(0, 100, 100).ok());
  for (const auto& [result_bytes, header_bytes] :
       {std::pair<uint64_t, uint64_t>{91, 10}, {0, 101}, {1, 100}, {UINT64_MAX, 10}, {5, 110}}) {
    EXPECT_EQ(ReasonOf(CheckResponse(result_bytes, header_bytes, 100)), "RESPONSE_TOO_LARGE")
        << result_bytes << ' ' << header_bytes;
  }
}

TEST(WireTest, MapsPayloadsToTheOperatorsInputs) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  for (const char* name : {"BTensor", "ATensor"}) {
    v1::TensorDesc& input = *request.add_inputs();
    input.set_name(name);
    input.set_data_type(v1::DATA_TYPE_UINT8);
    input.add_sizes(1);
    request.add_payloads("x");
  }
  RequestValidator validator(ValidationLimits(), kMaxMessageBytes, 0, nullptr);
  const auto invocation = validator.Validate(HeaderOf(request, PayloadBytesOf(request)));
  ASSERT_TRUE(invocation.ok());
  const auto inputs = InputsOf(PayloadsOf(request), **invocation);
  EXPECT_EQ(static_cast<const void*>(inputs[0].data()), request.payloads(1).data());
  EXPECT_EQ(static_cast<const void*>(inputs[1].data()), request.payloads(0).data());
  EXPECT_TRUE(inputs[2].is_absent());
}

TEST(WireTest, HeadersStayBelowTheirBound) {
  v1::ExecuteRequest request = Round(1);
  request.set_request_id(std::string(kMaxRequestIdBytes, 'x'));
  request.mutable_inputs(0)->mutable_sizes()->Resize(8, 1);
  v1::TensorDesc& output = *request.mutable_output();
  output.mutable_sizes()->Resize(8, 1);
  output.mutable_strides()->Resize(8, UINT32_MAX);
  RequestValidator validator(ValidationLimits(), kMaxMessageBytes, 0, nullptr);
  const auto invocation = validator.Validate(HeaderOf(request, PayloadBytesOf(request)));
  ASSERT_TRUE(invocation.ok()) << invocation.status();
  v1::ExecuteResponse response;
  const RunRecord record = {"a device with quite a long name", DeviceKind::kGpu,
                            std::chrono::hours(1000000), std::chrono::hours(1000000)};
  WriteResponseHeader(request, **invocation, record, response);
  EXPECT_EQ(response.output().strides_size(), 8);
  EXPECT_LT(response.ByteSizeLong(), kMaxResponseHeaderBytes / 2);
}

}  // namespace
}  // namespace opserve::testing
