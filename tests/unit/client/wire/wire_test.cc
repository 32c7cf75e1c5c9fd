// The client's types as messages, and back.

#include "client/wire/wire.h"

#include <optional>
#include <random>

#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::ReceivedFrom;

TEST(WireTest, EncodesEveryPartOfACall) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  OperatorCall call;
  call.operator_name = "OP";
  call.attributes = {
      {"Mode", "FAST"}, {"Count", int64_t{-3}}, {"Scale", 0.5}, {"Axes", Axes{2, 0}}};
  call.inputs = {TensorView::Of<uint8_t>(bytes, {2, 3}, {0, 1})};
  call.inputs[0].set_name("ATensor");
  call.output.emplace().strides = {3, 1};
  call.feature_level = "3_0";
  call.device = DevicePreference::kCpu;
  call.priority = CallPriority::kHigh;
  call.verify = true;
  call.request_id = "id";

  const v1::ExecuteRequest request = EncodeCall(call);
  EXPECT_EQ(request.operator_(), "OP");
  ASSERT_EQ(request.attributes_size(), 4);
  EXPECT_EQ(request.attributes(0).name(), "Mode");
  EXPECT_EQ(request.attributes(0).enum_name(), "FAST");
  EXPECT_EQ(request.attributes(1).int_value(), -3);
  EXPECT_EQ(request.attributes(2).float_value(), 0.5);
  EXPECT_THAT(request.attributes(3).axes().values(), ElementsAre(2, 0));
  ASSERT_EQ(request.inputs_size(), 1);
  EXPECT_EQ(request.inputs(0).name(), "ATensor");
  EXPECT_EQ(request.inputs(0).data_type(), v1::DATA_TYPE_UINT8);
  EXPECT_THAT(request.inputs(0).sizes(), ElementsAre(2, 3));
  EXPECT_THAT(request.inputs(0).strides(), ElementsAre(0, 1));
  EXPECT_THAT(request.payloads(), ElementsAre("\1\2\3"));
  EXPECT_EQ(request.output().data_type(), v1::DATA_TYPE_UNSPECIFIED);
  EXPECT_THAT(request.output().strides(), ElementsAre(3, 1));
  EXPECT_EQ(request.feature_level(), "3_0");
  EXPECT_EQ(request.device(), v1::DEVICE_PREFERENCE_CPU);
  EXPECT_EQ(request.priority(), v1::PRIORITY_HIGH);
  EXPECT_TRUE(request.verify());
  EXPECT_EQ(request.request_id(), "id");
}

TEST(WireTest, AnAbsentOutputStaysAbsent) {
  EXPECT_FALSE(EncodeCall({.operator_name = "OP"}).has_output());
}

TEST(WireTest, ACallThatAsksForNothingLeavesTheDeviceToTheServer) {
  const v1::ExecuteRequest request = EncodeCall({.operator_name = "OP"});
  EXPECT_EQ(request.device(), v1::DEVICE_PREFERENCE_UNSPECIFIED);
  EXPECT_EQ(request.priority(), v1::PRIORITY_NORMAL);
  EXPECT_FALSE(request.verify());
}

TEST(WireTest, EveryDevicePreferenceAndPriorityHasTheNumberOfTheContract) {
  OperatorCall call;
  for (auto device : {DevicePreference::kAuto, DevicePreference::kGpu, DevicePreference::kCpu}) {
    call.device = device;
    EXPECT_EQ(v1::DevicePreference_Name(EncodeCall(call).device()),
              "DEVICE_PREFERENCE_" + std::string(NameOf(device)));
  }
  for (auto priority : {CallPriority::kLow, CallPriority::kNormal, CallPriority::kHigh}) {
    call.priority = priority;
    EXPECT_EQ(v1::Priority_Name(EncodeCall(call).priority()),
              "PRIORITY_" + std::string(NameOf(priority)));
  }
}

TEST(WireTest, EveryDataTypeHasTheNumberOfTheContract) {
  for (DataType type : kAllDataTypes) {
    OperatorCall call;
    call.inputs = {TensorView({type, {1}, {}}, {})};
    EXPECT_EQ(v1::DataType_Name(EncodeCall(call).inputs(0).data_type()),
              "DATA_TYPE_" + std::string(NameOf(type)));
  }
}

TEST(WireTest, ARequestToBeSentPointsAtTheInputs) {
  const std::vector<uint8_t> first = {1, 2, 3};
  const std::vector<uint8_t> second = {4};
  OperatorCall call = {.operator_name = "OP"};
  call.inputs = {TensorView::Of<uint8_t>(first, {3}), TensorView::Of<uint8_t>(second, {1})};
  const OutgoingMessage message = MakeRequest(call);
  ASSERT_EQ(message.payloads.size(), 2u);
  EXPECT_EQ(message.payloads[0].data(), std::as_bytes(std::span(first)).data());
  EXPECT_EQ(message.payloads[1].size(), 1u);
  PayloadHold hold;
  EXPECT_EQ(BytesOf(Compose(message, hold)), EncodeCall(call).SerializeAsString());
}

TEST(WireTest, DecodesAnOutputWithStrides) {
  v1::ExecuteResponse response;
  response.set_request_id("id");
  response.mutable_output()->set_data_type(v1::DATA_TYPE_INT16);
  for (uint32_t size : {2, 1}) response.mutable_output()->add_sizes(size);
  for (uint32_t stride : {2, 1}) response.mutable_output()->add_strides(stride);
  response.set_payload(std::string("\1\0\0\0\2\0", 6));
  v1::ExecuteResponse header;
  const auto output = DecodeOutput(ReceivedFrom(response), header);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->spec, (TensorSpec{DataType::kInt16, {2, 1}, {2, 1}}));
  EXPECT_EQ(output->bytes, 6u);
  EXPECT_EQ(header.request_id(), "id");
}

absl::StatusCode CodeOf(const std::string& bytes) {
  v1::ExecuteResponse header;
  return DecodeOutput(ReceivedFrom(bytes), header).status().code();
}

TEST(WireTest, AResponseThatContradictsItselfIsDataLoss) {
  const auto code_of = [](const v1::ExecuteResponse& response) {
    return CodeOf(response.SerializeAsString());
  };
  v1::ExecuteResponse good;
  good.mutable_output()->set_data_type(v1::DATA_TYPE_INT16);
  good.mutable_output()->add_sizes(2);
  good.set_payload("abcd");
  EXPECT_EQ(code_of(good), absl::StatusCode::kOk);

  v1::ExecuteResponse wrong = good;
  wrong.set_payload("abc");
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.clear_payload();
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.mutable_output()->set_data_type(static_cast<v1::DataType>(99));
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.mutable_output()->set_sizes(0, 0);
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.clear_output();
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
}

// The generated parser's view of a response: the output's bytes, or nothing where it is none.
std::optional<std::string> GeneratedOutput(const std::string& bytes) {
  const google::protobuf::LogSilencer quiet;
  v1::ExecuteResponse response;
  if (!response.ParseFromString(bytes)) return std::nullopt;
  const TensorSpec spec{
      DataTypeFromNumber(response.output().data_type()).value_or(DataType::kUnknown),
      {response.output().sizes().begin(), response.output().sizes().end()},
      {response.output().strides().begin(), response.output().strides().end()}};
  const auto size = ByteSize(spec);
  if (!size.ok() || *size != response.payload().size()) return std::nullopt;
  return response.payload();
}

std::optional<std::string> DecodedOutput(const std::string& bytes, size_t slice_bytes) {
  const google::protobuf::LogSilencer quiet;
  const ResponseMessage received = ReceivedFrom(bytes, slice_bytes);
  v1::ExecuteResponse header;
  const auto output = DecodeOutput(received, header);
  if (!output.ok()) return std::nullopt;
  std::string payload(output->bytes, '\0');
  received.CopyPayload(output->payload, reinterpret_cast<std::byte*>(payload.data()));
  return payload;
}

TEST(WireTest, MutatedResponsesAreWhatTheGeneratedParserMakesOfThem) {
  std::mt19937_64 random(7);
  int good = 0;
  constexpr int kResponses = 50'000;
  for (int i = 0; i < kResponses; ++i) {
    v1::ExecuteResponse response;
    response.set_request_id("id");
    response.mutable_output()->set_data_type(v1::DATA_TYPE_UINT8);
    response.mutable_output()->add_sizes(1 + random() % 20);
    response.mutable_execution()->set_device("cpu");
    response.set_payload(std::string(response.output().sizes(0), 'p'));
    std::string bytes = response.SerializeAsString();
    // A second response behind the first is merged with it.
    if (random() % 8 == 0) bytes += "\x82\x01\x03xyz";
    for (size_t m = random() % 3; m > 0; --m) {
      const size_t at = random() % bytes.size();
      if (random() % 2 == 0) bytes[at] = static_cast<char>(random());
      if (random() % 4 == 0) bytes.erase(at, 1 + random() % 2);
      if (bytes.empty()) break;
    }
    const auto expected = GeneratedOutput(bytes);
    ASSERT_EQ(DecodedOutput(bytes, 1 + random() % 16), expected) << ::testing::PrintToString(bytes);
    good += expected.has_value() ? 1 : 0;
  }
  EXPECT_GT(good, kResponses / 10);
  EXPECT_LT(good, kResponses - kResponses / 10);
}

TEST(WireTest, ACatalogueMayHoldTypesThatThisClientDoesNotKnow) {
  v1::ListOperatorsResponse response;
  auto* tensor = response.add_operators()->add_support()->add_tensors();
  tensor->add_data_types(v1::DATA_TYPE_INT8);
  tensor->add_data_types(static_cast<v1::DataType>(77));
  const Catalogue catalogue = DecodeCatalogue(response);
  EXPECT_THAT(catalogue.operators[0].support[0].tensors[0].data_types,
              ElementsAre(DataType::kInt8));
}

}  // namespace
}  // namespace opserve::client_internal
