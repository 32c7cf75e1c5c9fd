// Sequences as messages, and what becomes of their results.

#include "client/api/sequence.h"

#include "client/wire/wire_sequences.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::Exhausted;
using testing::Fixture;
using ::testing::IsEmpty;
using testing::kGone;

const std::vector<uint8_t> kBytes = {1, 2, 3};

v1::ExecuteSequenceRequest Sent(const OperatorSequence& sequence) {
  PayloadHold hold;
  v1::ExecuteSequenceRequest request;
  EXPECT_TRUE(request.ParseFromString(BytesOf(Compose(MakeRequest(sequence), hold))));
  return request;
}

TEST(ClientSequenceTest, EncodesEveryPart) {
  const v1::ExecuteSequenceRequest request =
      Sent({.inputs = {TensorView::Of<uint8_t>(kBytes, {3}), TensorView::At(TensorHandle{"a"})},
            .steps = {{.operator_name = "FIRST",
                       .attributes = {{"Mode", "FAST"}},
                       .inputs = {FromInput(1)},
                       .output = TensorSpec{DataType::kInt8, {3}, {2}}},
                      {.operator_name = "SECOND",
                       .inputs = {FromStep(0, TensorSpec{DataType::kInt8, {3, 2}, {1, 0}}),
                                  {.number = 0, .name = "B"}}}},
            .outputs = {{1}, {0, TensorHandle{"b"}}},
            .feature_level = "3_0",
            .device = DevicePreference::kCpu,
            .priority = CallPriority::kLow,
            .verify = true,
            .request_id = "id"});
  EXPECT_EQ(request.inputs(0).sizes(0), 3u);
  EXPECT_EQ(request.input_places_size(), 2);
  EXPECT_EQ(request.input_places(1).tensor(), "a");
  EXPECT_THAT(request.payloads(), ElementsAre("\1\2\3"));
  ASSERT_EQ(request.steps_size(), 2);
  EXPECT_EQ(request.steps(0).operator_(), "FIRST");
  EXPECT_EQ(request.steps(0).attributes(0).enum_name(), "FAST");
  EXPECT_EQ(request.steps(0).inputs(0).source_case(), v1::StepInput::kInput);
  EXPECT_EQ(request.steps(0).inputs(0).input(), 1u);
  EXPECT_FALSE(request.steps(0).inputs(0).has_view());
  EXPECT_EQ(request.steps(0).output().data_type(), v1::DATA_TYPE_INT8);
  EXPECT_THAT(request.steps(0).output().strides(), ElementsAre(2));
  EXPECT_FALSE(request.steps(1).has_output());
  const v1::StepInput& view = request.steps(1).inputs(0);
  EXPECT_EQ(view.source_case(), v1::StepInput::kStep);
  EXPECT_EQ(view.step(), 0u);
  EXPECT_EQ(view.view().data_type(), v1::DATA_TYPE_UNSPECIFIED);
  EXPECT_THAT(view.view().sizes(), ElementsAre(3, 2));
  EXPECT_THAT(view.view().strides(), ElementsAre(1, 0));
  EXPECT_EQ(request.steps(1).inputs(1).name(), "B");
  EXPECT_EQ(request.steps(1).inputs(1).source_case(), v1::StepInput::kInput);
  ASSERT_EQ(request.outputs_size(), 2);
  EXPECT_EQ(request.outputs(0).step(), 1u);
  EXPECT_FALSE(request.outputs(0).has_place());
  EXPECT_EQ(request.outputs(1).place().tensor(), "b");
  EXPECT_EQ(request.feature_level(), "3_0");
  EXPECT_EQ(request.device(), v1::DEVICE_PREFERENCE_CPU);
  EXPECT_EQ(request.priority(), v1::PRIORITY_LOW);
  EXPECT_TRUE(request.verify());
  EXPECT_EQ(request.request_id(), "id");
}

TEST(ClientSequenceTest, PayloadsAreTheMemoryOfTheCaller) {
  const OutgoingMessage message =
      MakeRequest(OperatorSequence{.inputs = {TensorView::Of<uint8_t>(kBytes, {3})}});
  ASSERT_EQ(message.payloads.size(), 1u);
  EXPECT_EQ(message.payloads[0].data(), std::as_bytes(std::span(kBytes)).data());
}

// A response with outputs of these bytes; "-" stands for one that went elsewhere.
v1::ExecuteSequenceResponse Response(const std::vector<std::string>& outputs) {
  v1::ExecuteSequenceResponse response;
  response.mutable_execution()->set_device("cpu");
  for (const std::string& output : outputs) {
    v1::TensorDesc& desc = *response.add_outputs();
    desc.set_data_type(v1::DATA_TYPE_UINT8);
    desc.add_sizes(static_cast<uint32_t>(output.size()));
    if (output != "-") response.add_payloads(output);
  }
  return response;
}

absl::StatusOr<std::vector<SequenceResult>> Execute(const OperatorSequence& sequence,
                                                    const v1::ExecuteSequenceResponse& response,
                                                    std::deque<absl::Status> script = {},
                                                    ExecutionInfo* info = nullptr) {
  Fixture f(std::move(script));
  f.transport->answer = response.SerializeAsString();
  return f.impl->Run(ExecuteSequence(*f.impl, sequence, {}), info);
}

TEST(ClientSequenceTest, ResultsComeInTheOrderOfTheOutputs) {
  ExecutionInfo info;
  const auto results = Execute({.outputs = {{2}, {1, TensorHandle{"b"}}, {0}}},
                               Response({"abc", "-", "de"}), {kGone}, &info);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_THAT(*(*results)[0].tensor->Elements<uint8_t>(), ElementsAre('a', 'b', 'c'));
  EXPECT_EQ((*results)[0].spec, (TensorSpec{DataType::kUint8, {3}, {}}));
  EXPECT_FALSE((*results)[1].tensor.has_value());
  EXPECT_EQ((*results)[1].spec, (TensorSpec{DataType::kUint8, {1}, {}}));
  EXPECT_THAT(*(*results)[2].tensor->Elements<uint8_t>(), ElementsAre('d', 'e'));
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(info.sends, 2);
}

TEST(ClientSequenceTest, WhoAsksForNothingGetsTheLastResult) {
  const auto results = Execute({}, Response({"abc"}));
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_THAT(*results->front().tensor->Elements<uint8_t>(), ElementsAre('a', 'b', 'c'));
}

TEST(ClientSequenceTest, AResponseThatContradictsItselfIsDataLoss) {
  const OperatorSequence two = {.outputs = {{1}, {0, TensorHandle{"b"}}}};
  EXPECT_TRUE(Execute(two, Response({"abc", "-"})).ok());
  v1::ExecuteSequenceResponse bad_layout = Response({"abc", "-"});
  bad_layout.mutable_outputs(1)->clear_sizes();
  v1::ExecuteSequenceResponse bad_length = Response({"abc", "-"});
  bad_length.set_payloads(0, "ab");
  for (const auto& response : {Response({"abc"}), Response({"abc", "d"}), Response({"-", "-"}),
                               Response({"abc", "-", "-"}), bad_layout, bad_length}) {
    EXPECT_TRUE(absl::IsDataLoss(Execute(two, response).status())) << response.ShortDebugString();
  }
}

TEST(ClientSequenceTest, OneThatChangesItsInputsIsNotRepeatedBlindly) {
  const OperatorSequence in_place = {.inputs = {TensorView::At(TensorHandle{"a"})},
                                     .outputs = {{0}, {1, TensorHandle{"a"}}}};
  ExecutionInfo info;
  EXPECT_EQ(Execute(in_place, Response({"abc", "-"}), {kGone}, &info).status(), kGone);
  EXPECT_EQ(info.sends, 1);
  EXPECT_TRUE(Execute(in_place, Response({"abc", "-"}), {Exhausted(absl::Seconds(1))}, &info).ok());
  EXPECT_EQ(info.sends, 2);
  const OperatorSequence apart = {.inputs = {TensorView::At(TensorHandle{"a"})},
                                  .outputs = {{0, TensorHandle{"b"}}}};
  EXPECT_TRUE(Execute(apart, Response({"-"}), {kGone}, &info).ok());
  EXPECT_EQ(info.sends, 2);
}

}  // namespace
}  // namespace opserve::client_internal
