// Sequences over a stream: whole, in pieces, and in runs of which each goes through all steps.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/run_expectations.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Dims = std::vector<uint32_t>;

uint32_t ProductOf(const Dims& sizes) {
  uint32_t product = 1;
  for (const uint32_t size : sizes) product *= size;
  return product;
}

void AddRamp(v1::ExecuteSequenceRequest& request, const Dims& sizes) {
  std::vector<float> values = Ramp(ProductOf(sizes));
  for (float& value : values) value += static_cast<float>(request.inputs_size()) / 8;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(values));
}

v1::StepInput Viewed(v1::StepInput input, const Dims& sizes, const Dims& strides) {
  input.mutable_view()->mutable_sizes()->Assign(sizes.begin(), sizes.end());
  input.mutable_view()->mutable_strides()->Assign(strides.begin(), strides.end());
  return input;
}

// (x + row) * value per row, rounded: two of the three inputs are repeated.
v1::ExecuteSequenceRequest ScaledRowsRequest(uint32_t rows, uint32_t columns) {
  v1::ExecuteSequenceRequest request;
  AddRamp(request, {rows, columns});
  AddRamp(request, {columns});
  AddRamp(request, {rows});
  AddStep(request, "ELEMENT_WISE_ADD",
          {SequenceInput(0), Viewed(SequenceInput(1), {rows, columns}, {0, 1})});
  AddStep(request, "ELEMENT_WISE_MULTIPLY",
          {StepInputFrom(0), Viewed(SequenceInput(2), {rows, columns}, {1, 0})});
  AddRound(request, StepInputFrom(1));
  return request;
}

// One row that a step reads along the rows, and another along the columns.
v1::ExecuteSequenceRequest RowTwiceRequest(uint32_t size) {
  v1::ExecuteSequenceRequest request;
  AddRamp(request, {size, size});
  AddRamp(request, {size});
  AddStep(request, "ELEMENT_WISE_ADD",
          {SequenceInput(0), Viewed(SequenceInput(1), {size, size}, {0, 1})});
  AddStep(request, "ELEMENT_WISE_SUBTRACT",
          {StepInputFrom(0), Viewed(SequenceInput(1), {size, size}, {1, 0})});
  return request;
}

// Types of 8, 4 and 1 bytes: x < y chooses of a and b, one value is added.
v1::ExecuteSequenceRequest ChosenRequest(uint32_t count) {
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_INT64, {count}, Pattern(8ull * count, 4));
  AddSequenceInput(request, v1::DATA_TYPE_INT64, {count}, Pattern(8ull * count, 5));
  AddRamp(request, {count});
  AddRamp(request, {count});
  AddRamp(request, {1});
  AddStep(request, "ELEMENT_WISE_LOGICAL_LESS_THAN", {SequenceInput(0), SequenceInput(1)});
  AddStep(request, "ELEMENT_WISE_IF", {StepInputFrom(0), SequenceInput(2), SequenceInput(3)});
  AddStep(request, "ELEMENT_WISE_ADD", {StepInputFrom(1), Viewed(SequenceInput(4), {count}, {0})});
  return request;
}

// Steps that all go through the caches together.
v1::ExecuteSequenceRequest ChainRequest(uint32_t count, int steps = 8) {
  v1::ExecuteSequenceRequest request;
  AddRamp(request, {count});
  AddStep(request, "ELEMENT_WISE_ABS", {SequenceInput(0)});
  for (int s = 1; s < steps; ++s) {
    AddStep(request, s % 2 == 0 ? "ELEMENT_WISE_ABS" : "ELEMENT_WISE_NEGATE",
            {StepInputFrom(static_cast<uint32_t>(s - 1))});
  }
  return request;
}

v1::ExecuteSequenceRequest WithOutputs(v1::ExecuteSequenceRequest request,
                                       const std::vector<uint32_t>& steps) {
  for (const uint32_t step : steps) request.add_outputs()->set_step(step);
  return request;
}

v1::ExecuteSequenceResponse WholeOf(TestServer& server, const v1::ExecuteSequenceRequest& request) {
  grpc::ClientContext context;
  v1::ExecuteSequenceResponse response;
  const grpc::Status status = server.stub().ExecuteSequence(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

void ExpectAnswer(const StreamedAnswer& answer, const v1::ExecuteSequenceResponse& whole) {
  ASSERT_EQ(answer.error.code(), 0) << answer.error.message();
  ASSERT_TRUE(answer.sequence);
  EXPECT_TRUE(answer.has_response);
  EXPECT_EQ(answer.response.ByteSizeLong(), 0u) << "it is no answer to Execute";
  std::vector<std::string> payloads = {answer.payload};
  payloads.insert(payloads.end(), answer.later_payloads.begin(), answer.later_payloads.end());
  std::vector<uint64_t> lengths;
  for (const std::string& payload : whole.payloads()) lengths.push_back(payload.size());
  EXPECT_TRUE(std::ranges::equal(payloads, whole.payloads()));
  EXPECT_EQ(answer.payload_bytes, answer.received_bytes());
  if (lengths.size() < 2) lengths.clear();
  EXPECT_EQ(answer.each_payload_bytes, lengths);
  ASSERT_EQ(answer.sequence->outputs_size(), whole.outputs_size());
  for (int i = 0; i < whole.outputs_size(); ++i) {
    EXPECT_EQ(answer.sequence->outputs(i).SerializeAsString(),
              whole.outputs(i).SerializeAsString());
  }
  EXPECT_EQ(answer.sequence->request_id(), whole.request_id());
  EXPECT_EQ(answer.sequence->execution().attempts(), 1u);
}

void ExpectSequenceInRuns(TestServer& server, const v1::ExecuteSequenceRequest& request,
                          uint64_t run_bytes) {
  SCOPED_TRACE("runs of " + std::to_string(run_bytes));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(5, request, run_bytes)) << stream.answer(5).terms->reason();
  stream.ExchangeRuns(5, request);
  ExpectAnswer(stream.answer(5), WholeOf(server, request));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

TEST(StreamSequenceTest, ResultsAreThoseOfExecuteSequenceToTheBit) {
  TestServer server;
  std::vector<float> values = Ramp(100'003);
  for (size_t i = 0; i < values.size(); i += 7) values[i] = kInfinity;
  v1::ExecuteSequenceRequest choice = ChoiceRequest(values);
  choice.set_request_id("infinities");
  for (const uint64_t run_bytes : {4096, 100'000, 1 << 30}) {
    ExpectSequenceInRuns(server, choice, run_bytes);
    ExpectSequenceInRuns(server, ChosenRequest(50'001), run_bytes);
    ExpectSequenceInRuns(server, ChainRequest(100'002), run_bytes);
  }
}

TEST(StreamSequenceTest, WhatIsRepeatedIsSentAheadAndFoundByEveryStep) {
  TestServer server;
  for (const uint64_t run_bytes : {4, 200, 4096, 100'000, 1 << 30}) {
    ExpectSequenceInRuns(server, ScaledRowsRequest(15, 24), run_bytes);
    ExpectSequenceInRuns(server, RowTwiceRequest(24), run_bytes);
  }
  ExpectSequenceInRuns(server, ScaledRowsRequest(300, 1000), 40'000);
  ExpectSequenceInRuns(server, RowTwiceRequest(640), 100'000);
}

// Of the same and of other sizes per element, with and without loops of their own.
TEST(StreamSequenceTest, SeveralOutputsComeTogether) {
  TestServer server;
  for (const uint64_t run_bytes : {400, 100'000, 1 << 30}) {
    ExpectSequenceInRuns(server, WithOutputs(ChosenRequest(50'001), {2, 0, 1}), run_bytes);
    ExpectSequenceInRuns(server, WithOutputs(ChainRequest(100'002), {7, 3, 0, 5}), run_bytes);
    ExpectSequenceInRuns(server, WithOutputs(ScaledRowsRequest(150, 240), {0, 2}), run_bytes);
  }
}

// Large answers that are put together, on one stream: pieces of the outputs and of both alternate.
TEST(StreamSequenceTest, SeveralOutputsTravelInPieces) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteSequenceRequest large = WithOutputs(ChainRequest(900'001, 3), {1, 2});
  const v1::ExecuteSequenceRequest other = WithOutputs(ChosenRequest(600'001), {2, 0});
  ASSERT_TRUE(stream.Announce(1, large));
  ASSERT_TRUE(stream.Announce(2, other));
  for (const std::string& payload : other.payloads()) ASSERT_TRUE(stream.SendPiece(2, payload));
  for (const std::string& payload : large.payloads()) ASSERT_TRUE(stream.SendPiece(1, payload));
  EXPECT_NE(stream.ReadAnswer(), stream.ReadAnswer());
  ExpectAnswer(stream.answer(1), WholeOf(server, large));
  ExpectAnswer(stream.answer(2), WholeOf(server, other));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

// All outputs of a run count in the window, and it is answered once all of them are sent.
TEST(StreamSequenceTest, AClientThatReadsNothingHoldsAWindow) {
  TestServer server;
  const v1::ExecuteSequenceRequest request = WithOutputs(ChainRequest(4 << 20, 4), {3, 2, 1, 0});
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 0));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  EXPECT_LE(5 * terms.run_bytes(0) * terms.max_open_runs(), uint64_t{8} << 20);
  EXPECT_GT(terms.max_open_runs(), 2u);
  for (uint32_t run = 0; run < terms.max_open_runs(); ++run) {
    ASSERT_TRUE(stream.SendRun(1, request, run));
  }
  EXPECT_LE(server.server().usage().bytes, uint64_t{8} << 20);
  // Three of the four outputs of the first run are not its result.
  for (uint32_t i = 0; i < 4 * terms.max_open_runs(); ++i) ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).received_bytes(), 4ull * terms.max_open_runs() * terms.run_bytes(0));
  stream.TryCancel();
  stream.ReadEnd();
  ExpectNothingHeld(server);
}

TEST(StreamSequenceTest, EveryWorkerCountGivesTheSame) {
  for (const int workers : {1, 4}) {
    ServerOptions options;
    options.workers = workers;
    options.inline_bytes = 0;  // all are queued
    TestServer server(options);
    ExpectSequenceInRuns(server, ScaledRowsRequest(200, 500), 20'000);
    ExpectSequenceInRuns(server, WithOutputs(ChosenRequest(50'001), {1, 0, 2}), 20'000);
  }
}

TEST(StreamSequenceTest, SequencesAndCallsShareAStream) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteSequenceRequest whole = ChoiceRequest({0.5f, kInfinity, 2.5f});
  const v1::ExecuteSequenceRequest pieces = ScaledRowsRequest(10, 10);
  ASSERT_TRUE(stream.Announce(1, pieces));
  ASSERT_TRUE(stream.Send(2, whole));
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  ExpectAnswer(stream.answer(2), WholeOf(server, whole));
  ASSERT_TRUE(stream.Send(3, RoundRequest({0.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  EXPECT_FALSE(stream.answer(3).sequence);
  EXPECT_TRUE(stream.answer(3).payload == Rounded({0.5f}));
  for (const std::string& payload : pieces.payloads()) {
    ASSERT_TRUE(stream.SendPiece(1, payload.substr(0, 5)));
    ASSERT_TRUE(stream.SendPiece(1, payload.substr(5)));
  }
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  ExpectAnswer(stream.answer(1), WholeOf(server, pieces));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamSequenceTest, TheFirstResultComesBeforeTheLastInput) {
  TestServer server;
  const v1::ExecuteSequenceRequest request = ChainRequest(100'000);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 40'000));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).payload.size(), stream.answer(1).terms->run_bytes(0));
  EXPECT_FALSE(stream.answer(1).has_response);
  stream.TryCancel();
  EXPECT_EQ(stream.ReadEnd().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(server.WaitForRequests(0));
}

// What lies between steps that are no one group counts, too.
TEST(StreamSequenceTest, TensorsMayBeLargerThanTheServersLimits) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 1 << 20;
  options.max_message_bytes = 1 << 20;
  options.max_stream_bytes = 2 << 20;
  options.admission.max_bytes = 2 << 20;
  options.admission.max_bytes_per_client = 2 << 20;
  options.stream_window_bytes = 1 << 20;
  TestServer server(options);
  TestServer large;
  for (const v1::ExecuteSequenceRequest& request :
       {ScaledRowsRequest(4096, 1000), ChainRequest(4 << 20)}) {
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Offer(1, request, 0)) << stream.answer(1).error.message();
    EXPECT_LE(server.server().usage().bytes, options.stream_window_bytes);
    EXPECT_GT(server.server().usage().bytes, 0u);
    stream.ExchangeRuns(1, request);
    ExpectAnswer(stream.answer(1), WholeOf(large, request));
    // Without an offer the limit holds.
    ASSERT_TRUE(stream.Announce(2, request));
    stream.ReadAnswer();
    EXPECT_THAT(stream.answer(2).error.message(), HasSubstr("1048576"));
  }
}

// Whatever lies between their steps: as many wait for their payloads as fit, and no more.
TEST(StreamSequenceTest, SequencesInPiecesFillTheBudgetByWhatTheyHold) {
  constexpr uint64_t kRequests = 20;
  ServerOptions options;
  options.max_stream_bytes = 4 << 20;
  TestServer server(options);
  for (const int steps : {1, 2, 3, 20}) {
    v1::ExecuteSequenceRequest request;
    AddRamp(request, {100'000});
    AddRound(request, SequenceInput(0));
    for (int i = 1; i < steps; ++i) AddRound(request, StepInputFrom(i - 1));
    TestStream stream(server.stub());
    for (uint64_t id = 1; id <= kRequests; ++id) ASSERT_TRUE(stream.Announce(id, request));
    ASSERT_TRUE(stream.Send(kRequests + 1, RoundRequest({0.5f})));
    uint64_t refused = 0;
    while (stream.ReadAnswer() <= kRequests) ++refused;
    const uint64_t accepted = kRequests - refused;
    ASSERT_GT(accepted, 0u) << steps;
    const uint64_t held = server.server().usage().bytes;
    EXPECT_LE(held, options.max_stream_bytes) << steps;
    EXPECT_GT(held + held / accepted, options.max_stream_bytes) << steps;
    stream.TryCancel();
    EXPECT_TRUE(server.WaitForRequests(0));
  }
}

void ExpectSequencePutTogether(TestServer& server, const v1::ExecuteSequenceRequest& request,
                               const std::string& reason, bool sends_ahead = true) {
  TestStream stream(server.stub());
  EXPECT_FALSE(stream.Offer(1, request, 20'000, sends_ahead));
  ASSERT_EQ(stream.answer(1).error.code(), 0) << stream.answer(1).error.message();
  EXPECT_THAT(stream.answer(1).terms->reason(), HasSubstr(reason));
  for (const std::string& payload : request.payloads()) {
    ASSERT_TRUE(stream.SendPiece(1, payload));
  }
  stream.ReadAnswer();
  ExpectAnswer(stream.answer(1), WholeOf(server, request));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamSequenceTest, TheStepThatCannotComeInRunsIsNamed) {
  TestServer server;
  v1::ExecuteSequenceRequest rows;
  AddRamp(rows, {1, 1, 10, 100});
  AddStep(rows, "ELEMENT_WISE_ABS", {SequenceInput(0)});
  AddStep(rows, "ACTIVATION_SOFTMAX", {StepInputFrom(0)});
  ExpectSequencePutTogether(server, rows, "the elements of step 1 are not computed one by one");

  v1::ExecuteSequenceRequest transposed;
  AddRamp(transposed, {50, 50});
  AddStep(transposed, "ELEMENT_WISE_ABS", {SequenceInput(0)});
  AddStep(transposed, "ELEMENT_WISE_ADD",
          {StepInputFrom(0), Viewed(StepInputFrom(0), {50, 50}, {1, 50})});
  ExpectSequencePutTogether(server, transposed,
                            "step 1 reads the result of step 0 in another order");
  ExpectSequencePutTogether(server, ScaledRowsRequest(10, 20), "one by one",
                            /*sends_ahead=*/false);
  v1::ExecuteSequenceRequest padded;
  AddSequenceInput(padded, v1::DATA_TYPE_UINT8, {9}, Pattern(12, 8));
  AddStep(padded, "ELEMENT_WISE_IDENTITY", {SequenceInput(0)});
  ExpectSequencePutTogether(server, padded, "longer than its tensor");
}

TEST(StreamSequenceTest, AnInvalidStepIsNamed) {
  TestServer server;
  TestStream stream(server.stub());
  v1::ExecuteSequenceRequest request = ChainRequest(1000);
  *request.mutable_steps(2)->add_inputs() = SequenceInput(0);
  EXPECT_FALSE(stream.Offer(1, request, 4096));
  EXPECT_EQ(stream.answer(1).error.code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(stream.answer(1).error.message(), HasSubstr("steps[2].inputs"));
  EXPECT_TRUE(stream.answer(1).sequence) << "the server knows sequences";
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamSequenceTest, ResultsMayGoToATensorAtTheServer) {
  TestServer server;
  v1::CreateTensorRequest create;
  create.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
  create.mutable_desc()->add_sizes(1000);
  v1::CreateTensorResponse tensor;
  grpc::ClientContext creating;
  ASSERT_TRUE(server.stub().CreateTensor(&creating, create, &tensor).ok());
  v1::ExecuteSequenceRequest request = ChainRequest(1000);
  request.add_outputs()->set_step(7);
  const std::string expected = WholeOf(server, request).payloads(0);
  request.mutable_outputs(0)->mutable_place()->set_tensor(tensor.tensor());

  TestStream stream(server.stub());
  EXPECT_FALSE(stream.Offer(1, request, 400));
  EXPECT_THAT(stream.answer(1).terms->reason(), HasSubstr("a place of its own"));
  ASSERT_TRUE(stream.SendPiece(1, request.payloads(0)));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_TRUE(stream.answer(1).has_response) << stream.answer(1).error.message();
  EXPECT_THAT(stream.answer(1).payload, IsEmpty());
  EXPECT_TRUE(stream.Finish().ok());
  v1::ReadTensorRequest read;
  read.set_tensor(tensor.tensor());
  v1::ReadTensorResponse content;
  grpc::ClientContext reading;
  ASSERT_TRUE(server.stub().ReadTensor(&reading, read, &content).ok());
  EXPECT_TRUE(content.payload() == expected);
}

// The end of a stream whose first message is this, made of a sequence that is valid by itself.
template <class Change>
grpc::Status EndAfter(TestServer& server, const Change& change) {
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  SetRequest(ChainRequest(10), message);
  message.add_payloads(BytesOf(Ramp(10)));
  change(message);
  TestStream stream(server.stub());
  stream.Write(message);
  return stream.ReadEnd();
}

TEST(StreamSequenceTest, MessagesThatBreakTheRulesEndTheStream) {
  TestServer server;
  const auto without_request = [](v1::ExecuteStreamRequest& message) { message.clear_request(); };
  EXPECT_THAT(ViolationsOf(EndAfter(server, without_request)),
              ElementsAre(HasSubstr("request: With a sequence")));
  const auto both = [](v1::ExecuteStreamRequest& message) {
    message.mutable_request()->set_operator_("ELEMENT_WISE_ABS");
  };
  EXPECT_THAT(ViolationsOf(EndAfter(server, both)),
              ElementsAre(HasSubstr("request: With a sequence")));
  const auto payload_inside = [](v1::ExecuteStreamRequest& message) {
    message.mutable_sequence()->add_payloads("1234");
  };
  EXPECT_THAT(ViolationsOf(EndAfter(server, payload_inside)),
              ElementsAre(HasSubstr("sequence.payloads: ")));
}

// What a server that does not know sequences makes of one: a request of no operator.
TEST(StreamSequenceTest, WithoutTheFieldItIsARequestThatIsRefusedAlone) {
  TestServer server;
  TestStream stream(server.stub());
  for (const bool is_offered : {false, true}) {
    v1::ExecuteStreamRequest message;
    message.set_id(1);
    message.mutable_request();
    if (is_offered) {
      message.mutable_pipeline()->add_payload_bytes(4000);
    } else {
      message.add_payload_bytes(4000);
    }
    ASSERT_TRUE(stream.Write(message));
    EXPECT_EQ(stream.ReadAnswer(), 1u);
    EXPECT_EQ(stream.answer(1).error.code(), grpc::INVALID_ARGUMENT);
    EXPECT_FALSE(stream.answer(1).sequence);
    ASSERT_TRUE(stream.Cancel(1));
    stream.answer(1) = {};
  }
  ASSERT_TRUE(stream.Send(2, RoundRequest({0.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamSequenceTest, CancelledHalfWay) {
  ExpectCancelledHalfWay(ChainRequest(100'000));
  ExpectCancelledHalfWay(WithOutputs(ChainRequest(100'000), {7, 2}));
}

TEST(StreamSequenceTest, AnErrorHalfWayIsTold) {
  ExpectErrorHalfWay(ScaledRowsRequest(100, 1000));
  ExpectErrorHalfWay(WithOutputs(ChainRequest(100'000), {7, 2}));
}

TEST(StreamSequenceTest, MoreRunsThanMayBeOpenBreakTheRules) {
  TestServer server;
  const v1::ExecuteSequenceRequest request = ChainRequest(100'000);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 400));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  // In one message, so that the result of none is sent before the last one has come.
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  for (uint32_t run = 0; run <= terms.max_open_runs(); ++run) {
    message.add_payloads(request.payloads(0).substr(run * terms.run_bytes(0), terms.run_bytes(0)));
  }
  stream.Write(message);
  EXPECT_THAT(stream.ReadEnd().error_message(), HasSubstr("has not been sent"));
  ExpectNothingHeld(server);
}

}  // namespace
}  // namespace opserve::testing
