// Requests of a stream with inputs that are repeated over the result: these are sent ahead and
// held, and all else comes in runs.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/run_expectations.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

using Dims = std::vector<uint32_t>;

// An input of FLOAT32 with so many elements in memory, which lie with these strides.
void AddStrided(v1::ExecuteRequest& request, const Dims& sizes, const Dims& strides,
                uint32_t elements) {
  // Not random bits: results of NaNs would be equal for other reasons.
  std::vector<float> values = Ramp(elements);
  for (float& value : values) value += static_cast<float>(request.inputs_size()) / 8;
  AddInput(request, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(values));
  v1::TensorDesc& input = *request.mutable_inputs(request.inputs_size() - 1);
  input.mutable_strides()->Assign(strides.begin(), strides.end());
}

void AddPacked(v1::ExecuteRequest& request, const Dims& sizes) {
  uint32_t elements = 1;
  for (const uint32_t size : sizes) elements *= size;
  AddStrided(request, sizes, {}, elements);
}

v1::ExecuteRequest Begin(const std::string& operator_name) {
  v1::ExecuteRequest request;
  request.set_operator_(operator_name);
  return request;
}

// A matrix less a row that is repeated.
v1::ExecuteRequest RowRequest(uint32_t rows, uint32_t columns) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_SUBTRACT");
  AddPacked(request, {rows, columns});
  AddStrided(request, {rows, columns}, {0, 1}, columns);
  return request;
}

// A row less each row of a matrix: the first operand is the one that is sent ahead.
v1::ExecuteRequest FromRowRequest(uint32_t rows, uint32_t columns) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_SUBTRACT");
  AddStrided(request, {rows, columns}, {0, 1}, columns);
  AddPacked(request, {rows, columns});
  return request;
}

v1::ExecuteRequest ScalarRequest(uint32_t count) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_MULTIPLY");
  AddPacked(request, {count});
  AddStrided(request, {count}, {0}, 1);
  return request;
}

// One value per channel, of batches of channels.
v1::ExecuteRequest ChannelRequest(uint32_t batches, uint32_t channels, uint32_t pixels) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_ADD");
  AddPacked(request, {batches, channels, pixels});
  AddStrided(request, {batches, channels, pixels}, {0, 1, 0}, channels);
  return request;
}

// A leading dimension is repeated, and the third input is one value: two inputs are sent ahead.
v1::ExecuteRequest ClampedRequest(uint32_t rows, uint32_t columns) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_IF");
  AddInput(request, v1::DATA_TYPE_UINT8, {rows, columns}, Pattern(columns, 4));
  request.mutable_inputs(0)->add_strides(0);
  request.mutable_inputs(0)->add_strides(1);
  AddPacked(request, {rows, columns});
  AddStrided(request, {rows, columns}, {0, 0}, 1);
  return request;
}

// INT8 with one scale and one zero point for all, as quantized models have them; the latter padded.
v1::ExecuteRequest ScaledRequest(uint32_t count) {
  v1::ExecuteRequest request = Begin("ELEMENT_WISE_DEQUANTIZE_LINEAR");
  AddInput(request, v1::DATA_TYPE_INT8, {count}, Pattern(count, 6));
  AddStrided(request, {count}, {0}, 1);
  AddInput(request, v1::DATA_TYPE_INT8, {count}, std::string("\x05\0\0\0", 4));
  request.mutable_inputs(2)->add_strides(0);
  return request;
}

TEST(StreamAheadTest, ResultsAreThoseOfExecuteToTheBit) {
  for (const int workers : {1, 4}) {
    ServerOptions options;
    options.workers = workers;
    options.inline_bytes = workers == 1 ? options.inline_bytes : 0;  // all are queued
    TestServer server(options);
    for (const uint64_t run_bytes : {20'000, 40'960, 1 << 30}) {
      ExpectSameInRuns(server, ScalarRequest(200'003), run_bytes);
      ExpectSameInRuns(server, RowRequest(101, 1000), run_bytes);
      ExpectSameInRuns(server, FromRowRequest(101, 1000), run_bytes);
      // Rows that are longer than most runs.
      ExpectSameInRuns(server, RowRequest(5, 20'480), run_bytes);
      ExpectSameInRuns(server, FromRowRequest(5, 20'480), run_bytes);
      ExpectSameInRuns(server, ChannelRequest(3, 12, 4096), run_bytes);
      ExpectSameInRuns(server, ChannelRequest(40, 12, 100), run_bytes);
      ExpectSameInRuns(server, ClampedRequest(101, 1000), run_bytes);
      ExpectSameInRuns(server, ScaledRequest(200'003), run_bytes);
    }
  }
}

// A run of one row finds that what was sent ahead is as packed as all else, and must not put its
// result there: the next run needs it.
TEST(StreamAheadTest, WhatWasSentAheadIsNotOverwritten) {
  TestServer server;
  const v1::ExecuteRequest request = FromRowRequest(10, 8192);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 8192 * 4));
  ASSERT_EQ(stream.answer(1).terms->run_bytes(1), 8192u * 4);
  stream.ExchangeRuns(1, request);
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamAheadTest, TheTermsTellWhatIsSentAhead) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = RowRequest(1000, 100);
  ASSERT_TRUE(stream.Offer(1, request, 40'000));
  EXPECT_EQ(stream.answer(1).terms->run_bytes(1), 0u);
  EXPECT_EQ(stream.answer(1).terms->run_bytes(0) % 400, 0u);
  ASSERT_TRUE(stream.SendAhead(1, request));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  // Nothing else is sent until this has come.
  ASSERT_TRUE(stream.ReadMessage());
  EXPECT_EQ(stream.answer(1).payload.size(), stream.answer(1).terms->run_bytes(0));
  EXPECT_FALSE(stream.answer(1).has_response);
  stream.TryCancel();
  stream.ReadEnd();
  ExpectNothingHeld(server);
}

TEST(StreamAheadTest, PiecesMayBeCutAnywhere) {
  TestServer server;
  const v1::ExecuteRequest request = ClampedRequest(100, 96);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 384 * 10));
  const uint64_t run_bytes = stream.answer(1).terms->run_bytes(1);
  ASSERT_GT(run_bytes, 0u);
  for (const char byte : request.payloads(0)) ASSERT_TRUE(stream.SendPiece(1, {byte}));
  // The rest of what is sent ahead, and the beginning of a run, share a message.
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  message.add_payloads(request.payloads(2).substr(0, 3));
  message.add_payloads(request.payloads(2).substr(3));
  message.add_payloads(request.payloads(1).substr(0, 7));
  ASSERT_TRUE(stream.Write(message));
  const std::string rest = request.payloads(1).substr(7);
  ASSERT_TRUE(stream.SendPiece(1, rest.substr(0, run_bytes - 7)));
  ASSERT_TRUE(stream.ReadMessage());
  for (uint64_t sent = run_bytes - 7; sent < rest.size(); sent += run_bytes) {
    ASSERT_TRUE(stream.SendPiece(1, rest.substr(sent, run_bytes)));
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).has_response);
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamAheadTest, TheWindowBoundsWhatIsHeld) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 1 << 20;
  options.max_message_bytes = 1 << 20;
  options.max_stream_bytes = 1 << 20;
  options.admission.max_bytes = 1 << 20;
  options.admission.max_bytes_per_client = 1 << 20;
  options.stream_window_bytes = 1 << 20;
  TestServer server(options);
  // A quarter of the window is sent ahead, of 16 MiB.
  const v1::ExecuteRequest request = RowRequest(64, 65'536);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 0)) << stream.answer(1).terms->reason();
  EXPECT_LE(server.server().usage().bytes, options.stream_window_bytes);
  EXPECT_GT(server.server().usage().bytes, 65'536u * 4);
  stream.ExchangeRuns(1, request);
  ASSERT_TRUE(stream.answer(1).has_response) << stream.answer(1).error.message();
  ExpectNothingHeld(server);
  // Row by row it fits into a message.
  const std::string& matrix = request.payloads(0);
  v1::ExecuteRequest row = Begin("ELEMENT_WISE_SUBTRACT");
  AddInput(row, v1::DATA_TYPE_FLOAT32, {65'536}, "");
  AddInput(row, v1::DATA_TYPE_FLOAT32, {65'536}, request.payloads(1));
  for (const size_t i : {0, 1, 31, 63}) {
    row.set_payloads(0, matrix.substr(i * 262'144, 262'144));
    const Answer answer = server.Execute(row);
    EXPECT_TRUE(stream.answer(1).payload.substr(i * 262'144, 262'144) == answer.response.payload());
  }
  // What is larger is put together, and has the limits of such requests.
  EXPECT_FALSE(stream.Offer(2, RowRequest(64, 65'537), 0));
  EXPECT_THAT(stream.answer(2).error.message(), HasSubstr("1048576"));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

TEST(StreamAheadTest, WhatCannotBeSentAheadIsPutTogether) {
  ServerOptions options;
  options.stream_window_bytes = 1 << 20;
  TestServer server(options);
  // A client that does not know of it, such as one of an earlier version.
  ExpectPutTogether(server, RowRequest(100, 100), "one by one", false);
  ExpectPutTogether(server, RowRequest(3, 65'537), "more than a quarter of the window");
  // 32,749 is prime.
  ExpectPutTogether(server, RowRequest(9, 32'749), "do not divide");
  // Nothing comes in runs.
  v1::ExecuteRequest outer = Begin("ELEMENT_WISE_ADD");
  AddStrided(outer, {100, 100}, {1, 0}, 100);
  AddStrided(outer, {100, 100}, {0, 1}, 100);
  ExpectPutTogether(server, outer, "one by one");
}

TEST(StreamAheadTest, APieceBeyondWhatIsSentAheadBreaksTheRules) {
  TestServer server;
  const v1::ExecuteRequest request = RowRequest(100, 100);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  stream.SendPiece(1, std::string(401, 'x'));
  const grpc::Status status = stream.ReadEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("missing of a payload sent ahead"));
  ExpectNothingHeld(server);
}

// Before all of it is there, and after the first run.
// An offer of such lengths for FLOAT16 of as many elements as there can be: A is packed, all others
// have this stride.
v1::ExecuteStreamRequest EndlessOffer(const std::string& operator_name, uint32_t stride,
                                      const std::vector<uint64_t>& payload_bytes) {
  v1::ExecuteStreamRequest offer;
  offer.set_id(1);
  offer.mutable_request()->set_operator_(operator_name);
  for (const uint64_t bytes : payload_bytes) {
    v1::TensorDesc& input = *offer.mutable_request()->add_inputs();
    input.set_data_type(v1::DATA_TYPE_FLOAT16);
    input.add_sizes(UINT32_MAX);
    if (offer.request().inputs_size() > 1) input.add_strides(stride);
    offer.mutable_pipeline()->add_payload_bytes(bytes);
  }
  offer.mutable_pipeline()->set_sends_ahead(true);
  return offer;
}

// Their sizes, and sums of these, have more than 64 bits where nobody looks.
TEST(StreamAheadTest, TensorsWithoutEndAreRefused) {
  TestServer server;
  constexpr uint64_t kPacked = 2ull * UINT32_MAX;
  const uint32_t stride = 2147483649;  // 2^64 - 2 bytes
  v1::ExecuteStreamRequest third = EndlessOffer("ELEMENT_WISE_IF", stride, {UINT32_MAX, 2, 0});
  third.mutable_request()->mutable_inputs(0)->set_data_type(v1::DATA_TYPE_UINT8);
  third.mutable_request()->mutable_inputs(1)->set_strides(0, 0);
  for (const v1::ExecuteStreamRequest& offer :
       {EndlessOffer("ELEMENT_WISE_ADD", stride, {kPacked, 0}),
        EndlessOffer("ELEMENT_WISE_ADD", stride, {kPacked, UINT64_MAX - 1}),
        EndlessOffer("ELEMENT_WISE_ADD", 1 << 31, {kPacked, uint64_t{1} << 63}), third}) {
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Write(offer));
    ASSERT_TRUE(stream.ReadMessage());
    EXPECT_FALSE(stream.answer(1).is_in_runs());
    EXPECT_EQ(stream.answer(1).error.code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
    EXPECT_TRUE(stream.Finish().ok());
  }
  ExpectNothingHeld(server);
}

TEST(StreamAheadTest, CancelledHalfWay) {
  TestServer server;
  const v1::ExecuteRequest request = RowRequest(100, 100);
  TestStream stream(server.stub());
  for (const bool is_running : {false, true}) {
    ASSERT_TRUE(stream.Offer(1, request, 4000));
    if (is_running) {
      ASSERT_TRUE(stream.SendAhead(1, request));
      ASSERT_TRUE(stream.SendRun(1, request, 0));
      ASSERT_TRUE(stream.ReadMessage());
    } else {
      ASSERT_TRUE(stream.SendPiece(1, "abc"));
    }
    ASSERT_TRUE(stream.Cancel(1));
    EXPECT_EQ(stream.ReadAnswer(), 1u);
    EXPECT_EQ(stream.answer(1).error.code(), grpc::CANCELLED);
    EXPECT_FALSE(stream.answer(1).has_response);
    ExpectNothingHeld(server);
  }
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamAheadTest, AClientThatGoesLeavesNothing) {
  TestServer server;
  const v1::ExecuteRequest request = RowRequest(100, 100);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  ASSERT_TRUE(stream.SendPiece(1, "abc"));
  stream.TryCancel();
  EXPECT_EQ(stream.ReadEnd().error_code(), grpc::CANCELLED);
  ExpectNothingHeld(server);
}

TEST(StreamAheadTest, AnUploadThatIsTooSlowIsRefused) {
  SimulatedClock clock{SteadyClock().Now()};
  ServerOptions options;
  options.stall_limit = std::chrono::seconds(4);
  TestServer server(options, {.clock = &clock});
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = RowRequest(100, 100);
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  ASSERT_TRUE(stream.SendPiece(1, "abcd"));
  // The server has taken that once it has taken what comes after it.
  ASSERT_TRUE(stream.Send(2, RoundRequest({0.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  clock.Advance(std::chrono::seconds(11));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).error.code(), grpc::ABORTED);
  EXPECT_TRUE(server.WaitForRequests(0));
  // What is under way is dropped.
  ASSERT_TRUE(stream.SendPiece(1, request.payloads(1).substr(4)));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  ASSERT_TRUE(stream.Cancel(1));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

}  // namespace
}  // namespace opserve::testing
