// Requests of a stream whose payloads come in runs, over a real connection: terms, results before
// the last input, what cannot come in runs, windows, cancellation, and errors half-way.

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/run_expectations.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// Compares 64-bit integers: the result has an eighth of the bytes of an input.
v1::ExecuteRequest LessRequest(uint32_t count) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_LOGICAL_LESS_THAN");
  AddInput(request, v1::DATA_TYPE_INT64, {count}, Pattern(8ull * count, 4));
  AddInput(request, v1::DATA_TYPE_INT64, {count}, Pattern(8ull * count, 5));
  return request;
}

// Inputs of two types, of which the result has the second, and an optional one that is absent.
v1::ExecuteRequest DequantizeRequest(uint32_t count) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_DEQUANTIZE_LINEAR");
  AddInput(request, v1::DATA_TYPE_INT8, {count}, Pattern(count, 6));
  AddInput(request, v1::DATA_TYPE_FLOAT16, {count}, Pattern(2ull * count, 7));
  return request;
}

TEST(PipelinedStreamTest, ResultsAreThoseOfExecuteToTheBit) {
  TestServer server;
  for (const uint64_t run_bytes : {4096, 100'000, 524'288, 1 << 30}) {
    ExpectSameInRuns(server, RoundRequest(Ramp(300'007)), run_bytes);
    ExpectSameInRuns(server, IfRequest(200'003), run_bytes);
    ExpectSameInRuns(server, LessRequest(100'001), run_bytes);
    ExpectSameInRuns(server, DequantizeRequest(300'002), run_bytes);
  }
}

TEST(PipelinedStreamTest, ARunMayHaveOneElement) {
  TestServer server;
  ExpectSameInRuns(server, IfRequest(100), 1);
  ExpectSameInRuns(server, RoundRequest(Ramp(1)), 0);
}

TEST(PipelinedStreamTest, EveryWorkerCountGivesTheSame) {
  for (const int workers : {1, 4}) {
    ServerOptions options;
    options.workers = workers;
    options.inline_bytes = 0;  // all are queued
    TestServer server(options);
    ExpectSameInRuns(server, IfRequest(400'003), 20'000);
  }
}

TEST(PipelinedStreamTest, TheFirstResultComesBeforeTheLastInput) {
  TestServer server;
  const v1::ExecuteRequest request = IfRequest(100'000);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 90'000));
  const uint64_t run_elements = stream.answer(1).terms->run_bytes(0);
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  // Nothing else is sent until this has come.
  ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).payload.size(), 4 * run_elements);
  EXPECT_FALSE(stream.answer(1).has_response);
  for (uint64_t run = 1; run * run_elements < 100'000; ++run) {
    ASSERT_TRUE(stream.SendRun(1, request, run));
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).has_response);
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(PipelinedStreamTest, PiecesMayBeCutAnywhere) {
  TestServer server;
  const v1::ExecuteRequest request = IfRequest(10'000);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 9 * 4096));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  // What belongs to the runs, one after the other, in pieces of 1, 3, 5, ... bytes.
  size_t next = 1;
  for (uint64_t run = 0; run * terms.run_bytes(0) < 10'000; ++run) {
    for (int i = 0; i < 3; ++i) {
      const uint64_t bytes = terms.run_bytes(i);
      const std::string part = request.payloads(i).substr(run * bytes, bytes);
      for (size_t sent = 0; sent < part.size(); sent += std::exchange(next, next + 2)) {
        ASSERT_TRUE(stream.SendPiece(1, part.substr(sent, next)));
      }
    }
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(PipelinedStreamTest, ManyRequestsTakeTurns) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteRequest first = RoundRequest(Ramp(50'000));
  const v1::ExecuteRequest second = IfRequest(50'000);
  ASSERT_TRUE(stream.Offer(1, first, 4000));
  ASSERT_TRUE(stream.Offer(2, second, 4000));
  ASSERT_TRUE(stream.Send(3, RoundRequest({0.5f})));
  for (uint64_t run = 0; run < 10; ++run) {
    ASSERT_TRUE(stream.SendRun(1, first, run));
    ASSERT_TRUE(stream.SendRun(2, second, run));
  }
  for (int i = 0; i < 21; ++i) ASSERT_TRUE(stream.ReadMessage());
  EXPECT_TRUE(stream.answer(3).payload == Rounded({0.5f}));
  const std::string whole = server.Execute(second).response.payload();
  EXPECT_TRUE(stream.answer(2).payload == whole.substr(0, stream.answer(2).payload.size()));
  EXPECT_TRUE(stream.answer(1).payload ==
              Rounded(Ramp(50'000)).substr(0, stream.answer(1).payload.size()));
  EXPECT_GT(stream.answer(1).payload.size(), 0u);
}

TEST(PipelinedStreamTest, TensorsMayBeLargerThanTheServersLimits) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 1 << 20;
  options.max_message_bytes = 1 << 20;
  options.max_stream_bytes = 2 << 20;
  options.admission.max_bytes = 2 << 20;
  options.admission.max_bytes_per_client = 2 << 20;
  options.stream_window_bytes = 1 << 20;
  TestServer server(options);
  const v1::ExecuteRequest request = RoundRequest(Ramp(4 << 20));  // 16 MiB
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 0));
  EXPECT_LE(server.server().usage().bytes, options.stream_window_bytes);
  EXPECT_GT(server.server().usage().bytes, 0u);
  stream.ExchangeRuns(1, request);
  EXPECT_TRUE(stream.answer(1).payload == Rounded(Ramp(4 << 20)));
  // Without an offer, and where it cannot come in runs, the limit holds.
  v1::ExecuteRequest reduced = request;
  reduced.set_operator_("ACTIVATION_SOFTMAX");
  reduced.clear_attributes();
  EXPECT_FALSE(stream.Offer(2, reduced, 0));
  EXPECT_THAT(stream.answer(2).error.message(), HasSubstr("1048576"));
  ASSERT_TRUE(stream.Announce(3, request));
  stream.ReadAnswer();
  EXPECT_THAT(stream.answer(3).error.message(), HasSubstr("1048576"));
}

TEST(PipelinedStreamTest, WhatCannotComeInRunsIsPutTogether) {
  TestServer server;
  v1::ExecuteRequest rows;
  rows.set_operator_("ACTIVATION_SOFTMAX");
  AddInput(rows, v1::DATA_TYPE_FLOAT32, {1, 1, 10, 100}, BytesOf(Ramp(1000)));
  ExpectPutTogether(server, rows, "one by one");
  v1::ExecuteRequest strided = RoundRequest(Ramp(200));
  auto& input = *strided.mutable_inputs(0);
  input.clear_sizes();
  for (const uint32_t size : {10, 20}) input.add_sizes(size);
  for (const uint32_t stride : {1, 10}) input.add_strides(stride);
  for (const uint32_t stride : {20, 1}) strided.mutable_output()->add_strides(stride);
  ExpectPutTogether(server, strided, "one by one");
  // A payload may be rounded up to a multiple of 4.
  v1::ExecuteRequest padded;
  padded.set_operator_("ELEMENT_WISE_IDENTITY");
  AddInput(padded, v1::DATA_TYPE_UINT8, {9}, Pattern(12, 8));
  ExpectPutTogether(server, padded, "longer than its tensor");
}

TEST(PipelinedStreamTest, AnInvalidOfferIsRefused) {
  TestServer server;
  TestStream stream(server.stub());
  v1::ExecuteRequest request = RoundRequest(Ramp(1000));
  request.mutable_attributes(0)->set_enum_name("UP");
  EXPECT_FALSE(stream.Offer(1, request, 4096));
  EXPECT_EQ(stream.answer(1).error.code(), grpc::INVALID_ARGUMENT);
  // Its id is free, and nothing of it is waited for.
  ASSERT_TRUE(stream.Send(1, RoundRequest({0.5f})));
  ASSERT_TRUE(stream.ReadMessage());
  EXPECT_TRUE(stream.answer(1).payload == Rounded({0.5f}));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(PipelinedStreamTest, MoreRunsThanMayBeOpenBreakTheRules) {
  TestServer server;
  const v1::ExecuteRequest request = RoundRequest(Ramp(100'000));
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
  grpc::Status status = stream.ReadEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("has not been sent"));
  EXPECT_TRUE(server.WaitForRequests(0));
}

TEST(PipelinedStreamTest, OneMessageMayHaveAllRunsThatMayBeOpen) {
  TestServer server;
  // 64 runs of 64 elements.
  const v1::ExecuteRequest request = RoundRequest(Ramp(4096));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 256));
  ASSERT_EQ(stream.answer(1).terms->run_bytes(0), 256u);
  ASSERT_EQ(stream.answer(1).terms->max_open_runs(), 64u);
  ASSERT_TRUE(stream.SendPiece(1, request.payloads(0).substr(0, 200)));
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  message.add_payloads(request.payloads(0).substr(200, 56));
  for (size_t sent = 256; sent < 16'384; sent += 256) {
    message.add_payloads(request.payloads(0).substr(sent, 256));
  }
  ASSERT_TRUE(stream.Write(message));
  stream.ReadAnswer();
  EXPECT_TRUE(stream.answer(1).payload == Rounded(Ramp(4096)));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(PipelinedStreamTest, APieceBeyondItsRunBreaksTheRules) {
  TestServer server;
  const v1::ExecuteRequest request = IfRequest(1000);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 900));
  const uint64_t bytes = stream.answer(1).terms->run_bytes(0);
  stream.SendPiece(1, request.payloads(0).substr(0, bytes + 1));
  grpc::Status status = stream.ReadEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("more than is missing of the run"));
  EXPECT_TRUE(server.WaitForRequests(0));
}

TEST(PipelinedStreamTest, AnOfferComesWithoutPayloads) {
  TestServer server;
  TestStream stream(server.stub());
  v1::ExecuteRequest request = RoundRequest(Ramp(10));
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  message.mutable_pipeline()->add_payload_bytes(40);
  message.add_payloads(request.payloads(0));
  request.clear_payloads();
  *message.mutable_request() = request;
  stream.Write(message);
  EXPECT_EQ(stream.ReadEnd().error_code(), grpc::INVALID_ARGUMENT);
}

TEST(PipelinedStreamTest, CancelledHalfWay) { ExpectCancelledHalfWay(RoundRequest(Ramp(100'000))); }

TEST(PipelinedStreamTest, AnErrorHalfWayIsTold) { ExpectErrorHalfWay(RoundRequest(Ramp(100'000))); }

TEST(PipelinedStreamTest, AClientThatGoesLeavesNothing) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  TestServer server(options, {.cpu = Borrow(device)});
  const v1::ExecuteRequest request = RoundRequest(Ramp(100'000));
  for (const bool is_running : {false, true}) {
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Offer(1, request, 4000));
    ASSERT_TRUE(stream.SendRun(1, request, 0));
    ASSERT_TRUE(stream.ReadMessage());
    const GateCloser closer(device);
    for (uint64_t run = 1; is_running && run < 5; ++run) stream.SendRun(1, request, run);
    EXPECT_TRUE(!is_running || device.WaitForHeld(1));
    stream.TryCancel();
    EXPECT_EQ(stream.ReadEnd().error_code(), grpc::CANCELLED);
    device.Open();
    EXPECT_TRUE(server.WaitForRequests(0));
  }
}

TEST(PipelinedStreamTest, AStreamThatEndsHalfWayBreaksTheRules) {
  TestServer server;
  const v1::ExecuteRequest request = RoundRequest(Ramp(10'000));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  ASSERT_TRUE(stream.ReadMessage());
  EXPECT_THAT(stream.Finish().error_message(), HasSubstr("in the middle of request 1"));
  EXPECT_TRUE(server.WaitForRequests(0));
}

// A client whose results nobody reads sends no more than a window, which is all that is held.
TEST(PipelinedStreamTest, AClientThatReadsNothingHoldsAWindow) {
  TestServer server;
  const v1::ExecuteRequest request = RoundRequest(Ramp(8 << 20));  // 32 MiB
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 0));
  const uint32_t open = stream.answer(1).terms->max_open_runs();
  for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.SendRun(1, request, run));
  EXPECT_LE(server.server().usage().bytes, uint64_t{8} << 20);
  // It goes on once they are read.
  for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).payload.size(), uint64_t{open} * stream.answer(1).terms->run_bytes(0));
  stream.TryCancel();
  EXPECT_EQ(stream.ReadEnd().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(server.WaitForRequests(0));
}

// Nor does it keep anything by going away with its results unread, which fill the connection.
TEST(PipelinedStreamTest, AClientThatGoesWithoutItsResultsLeavesNothing) {
  TestServer server;
  const v1::ExecuteRequest request = RoundRequest(Ramp(8 << 20));  // 32 MiB
  {
    const auto stub = v1::OperatorService::NewStub(ConnectTo(server.server().addresses()[0]));
    TestStream stream(*stub);
    for (const uint64_t id : {1, 2, 3}) {
      ASSERT_TRUE(stream.Offer(id, request, 0));
      const uint32_t open = stream.answer(id).terms->max_open_runs();
      for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.SendRun(id, request, run));
    }
    EXPECT_EQ(server.server().usage().requests, 3u);
    EXPECT_LE(server.server().usage().bytes, uint64_t{3 * 8} << 20);
    stream.TryCancel();
  }
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
}

TEST(PipelinedStreamTest, AnUploadThatIsTooSlowIsRefused) {
  SimulatedClock clock{SteadyClock().Now()};
  ServerOptions options;
  options.stall_limit = std::chrono::seconds(4);
  TestServer server(options, {.clock = &clock});
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = RoundRequest(Ramp(10'000));
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  ASSERT_TRUE(stream.ReadMessage());
  clock.Advance(std::chrono::seconds(11));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).error.code(), grpc::ABORTED);
  EXPECT_THAT(stream.answer(1).error.message(), HasSubstr("not complete after 10 s"));
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
  ASSERT_TRUE(stream.Cancel(1));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(PipelinedStreamTest, TimeInWhichTheWindowIsFullIsNotTheClients) {
  SimulatedClock clock{SteadyClock().Now()};
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  options.pollers = 1;
  options.stall_limit = std::chrono::seconds(4);
  TestServer server(options, {.clock = &clock, .cpu = Borrow(device)});
  // Older streams are looked at last: its refusal tells that the other one has been looked at.
  TestStream older(server.stub());
  const v1::ExecuteRequest request = RoundRequest(Ramp(10'000));
  ASSERT_TRUE(older.Offer(1, request, 4000));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 256));
  const uint32_t open = stream.answer(1).terms->max_open_runs();
  {
    const GateCloser closer(device);
    v1::ExecuteStreamRequest window;
    window.set_id(1);
    for (uint32_t run = 0; run < open; ++run) {
      window.add_payloads(request.payloads(0).substr(256 * run, 256));
    }
    ASSERT_TRUE(stream.Write(window));
    ASSERT_TRUE(device.WaitForHeld(1));
    clock.Advance(std::chrono::hours(1));
    EXPECT_EQ(older.ReadAnswer(), 1u);
    EXPECT_EQ(older.answer(1).error.code(), grpc::ABORTED);
  }
  for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).error.code(), 0) << stream.answer(1).error.message();
  EXPECT_EQ(stream.answer(1).payload.size(), 256u * open);
  stream.TryCancel();
  stream.ReadEnd();
}

TEST(PipelinedStreamTest, TimeBetweenTicksInWhichTheWindowIsFullIsNotTheClients) {
  SimulatedClock clock{SteadyClock().Now()};
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  options.pollers = 1;
  options.stall_limit = std::chrono::seconds(16);
  TestServer server(options, {.clock = &clock, .cpu = Borrow(device)});
  TestStream older(server.stub());
  const v1::ExecuteRequest request = RoundRequest(Ramp(10'000));
  ASSERT_TRUE(older.Offer(1, request, 4000));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 256));
  const uint32_t open = stream.answer(1).terms->max_open_runs();
  {
    const GateCloser closer(device);
    for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.SendRun(1, request, run));
    ASSERT_TRUE(device.WaitForHeld(1));
    // With its refusal the poller is done with all that came before.
    v1::ExecuteRequest wrong = request;
    wrong.set_operator_("NO_SUCH_OPERATOR");
    EXPECT_FALSE(stream.Offer(2, wrong, 256));
    EXPECT_NE(stream.answer(2).error.code(), 0);
    clock.Advance(std::chrono::hours(1));
  }
  for (uint32_t run = 0; run < open; ++run) ASSERT_TRUE(stream.ReadMessage());
  // Most likely it is only then that the poller looks at both.
  EXPECT_EQ(older.ReadAnswer(), 1u);
  EXPECT_EQ(older.answer(1).error.code(), grpc::ABORTED);
  for (uint64_t run = open; 256 * run < request.payloads(0).size(); ++run) {
    ASSERT_TRUE(stream.SendRun(1, request, run));
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).payload == Rounded(Ramp(10'000)));
  EXPECT_TRUE(stream.Finish().ok());
}

// What a server that does not know offers makes of one: it finds payloads missing.
TEST(PipelinedStreamTest, AnOfferWithoutTheFieldIsARequestWithoutPayloads) {
  TestServer server;
  TestStream stream(server.stub());
  for (const v1::ExecuteRequest& request : {RoundRequest(Ramp(1000)), IfRequest(1000)}) {
    v1::ExecuteStreamRequest message;
    message.set_id(1);
    *message.mutable_request() = request;
    message.mutable_request()->clear_payloads();
    ASSERT_TRUE(stream.Write(message));
    EXPECT_EQ(stream.ReadAnswer(), 1u);
    EXPECT_EQ(stream.answer(1).error.code(), grpc::INVALID_ARGUMENT);
    EXPECT_FALSE(stream.answer(1).terms);
    // And it may come again under the same id.
    stream.answer(1) = {};
    ASSERT_TRUE(stream.Announce(1, request));
    for (const std::string& payload : request.payloads()) {
      ASSERT_TRUE(stream.SendPiece(1, payload));
    }
    EXPECT_EQ(stream.ReadAnswer(), 1u);
    EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
    stream.answer(1) = {};
  }
  EXPECT_TRUE(stream.Finish().ok());
}

}  // namespace
}  // namespace opserve::testing
