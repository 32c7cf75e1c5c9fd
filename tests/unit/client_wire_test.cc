// The client's types as messages, and back.

#include "client/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;

TEST(WireTest, EncodesEveryPartOfACall) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  OperatorCall call;
  call.operator_name = "OP";
  call.attributes = {{"Mode", "FAST"}, {"Count", int64_t{-3}}, {"Scale", 0.5}};
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
  ASSERT_EQ(request.attributes_size(), 3);
  EXPECT_EQ(request.attributes(0).name(), "Mode");
  EXPECT_EQ(request.attributes(0).enum_name(), "FAST");
  EXPECT_EQ(request.attributes(1).int_value(), -3);
  EXPECT_EQ(request.attributes(2).float_value(), 0.5);
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

TEST(WireTest, DecodesAnOutputWithStrides) {
  v1::ExecuteResponse response;
  response.mutable_output()->set_data_type(v1::DATA_TYPE_INT16);
  for (uint32_t size : {2, 1}) response.mutable_output()->add_sizes(size);
  for (uint32_t stride : {2, 1}) response.mutable_output()->add_strides(stride);
  response.set_payload(std::string("\1\0\0\0\2\0", 6));
  const auto output = DecodeOutput(response);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->spec(), (TensorSpec{DataType::kInt16, {2, 1}, {2, 1}}));
  EXPECT_THAT(output->values<int16_t>(), ElementsAre(1, 0, 2));
}

TEST(WireTest, AResponseThatContradictsItselfIsDataLoss) {
  const auto code_of = [](v1::ExecuteResponse response) {
    return DecodeOutput(response).status().code();
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
  wrong.mutable_output()->set_data_type(static_cast<v1::DataType>(99));
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.mutable_output()->set_sizes(0, 0);
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
  wrong = good;
  wrong.clear_output();
  EXPECT_EQ(code_of(wrong), absl::StatusCode::kDataLoss);
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
