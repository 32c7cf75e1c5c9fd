// Payloads of a stream may be cut into pieces of any size, and inputs may come unevenly: neither
// changes a result, nor leaves anything behind.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/run_expectations.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// ~x of so many bytes.
v1::ExecuteRequest NotRequest(uint64_t bytes) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_BIT_NOT");
  AddInput(request, v1::DATA_TYPE_UINT8, {static_cast<uint32_t>(bytes)}, Pattern(bytes, 1));
  return request;
}

std::string NotOf(std::string bytes) {
  for (char& c : bytes) c = static_cast<char>(~c);
  return bytes;
}

// Small pieces share messages, since a message takes far longer than a byte.
bool SendInPieces(TestStream& stream, uint64_t id, const std::string& bytes, uint64_t piece) {
  constexpr int kMostPieces = 500;
  constexpr uint64_t kFullMessage = 4096;
  v1::ExecuteStreamRequest message;
  message.set_id(id);
  uint64_t in_message = 0;
  for (uint64_t sent = 0; sent < bytes.size(); sent += piece) {
    message.add_payloads(bytes.substr(sent, piece));
    in_message += message.payloads().rbegin()->size();
    const bool is_full = in_message >= kFullMessage || message.payloads_size() == kMostPieces;
    if (!is_full && sent + piece < bytes.size()) continue;
    if (!stream.Write(message)) return false;
    message.clear_payloads();
    in_message = 0;
  }
  return true;
}

class StreamPiecesTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(StreamPiecesTest, GiveTheSameResult) {
  const uint64_t piece = GetParam();
  TestServer server;
  TestStream stream(server.stub());
  // One piece of the largest size, some of the middle ones, thousands of the smallest.
  const uint64_t bytes = piece == 64 * kMiB ? piece : std::max<uint64_t>(2 * piece + 5, 10'007);
  const v1::ExecuteRequest request = NotRequest(bytes);
  ASSERT_TRUE(stream.Announce(1, request));
  ASSERT_TRUE(SendInPieces(stream, 1, request.payloads(0), piece));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).error.code(), 0) << stream.answer(1).error.message();
  EXPECT_TRUE(stream.answer(1).payload == NotOf(request.payloads(0)));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

// No piece is larger than what a run has of a payload, so the larger ones are cut there.
TEST_P(StreamPiecesTest, GiveTheSameResultInRuns) {
  const uint64_t piece = GetParam();
  TestServer server;
  TestStream stream(server.stub());
  const auto count = static_cast<uint32_t>(std::clamp<uint64_t>(piece, 10'007, 300'007));
  const v1::ExecuteRequest request = IfRequest(count);
  ASSERT_TRUE(stream.Offer(1, request, piece < 4097 ? 40'000 : 0));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  for (uint64_t run = 0; run * terms.run_bytes(0) < count; ++run) {
    for (int i = 0; i < request.payloads_size(); ++i) {
      const uint64_t part = terms.run_bytes(i);
      ASSERT_TRUE(SendInPieces(stream, 1, request.payloads(i).substr(run * part, part), piece));
    }
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).has_response) << stream.answer(1).error.message();
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

INSTANTIATE_TEST_SUITE_P(Bytes, StreamPiecesTest,
                         ::testing::Values(1, 3, 4095, 4097, kMiB - 1, kMiB, kMiB + 1, 64 * kMiB));

// Answers another request, after which the server has dealt with all that was sent before.
void AskMeanwhile(TestStream& stream, uint64_t id) {
  const std::vector<float> values = {0.5f, 1.5f, static_cast<float>(id)};
  ASSERT_TRUE(stream.Send(id, RoundRequest(values)));
  ASSERT_EQ(stream.ReadAnswer(), id);
  EXPECT_EQ(stream.answer(id).payload, Rounded(values));
}

// One input is there as a whole, and the others come in drops, with other requests in between.
TEST(UnevenInputsTest, PayloadsOneAfterTheOther) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = IfRequest(20'000);
  ASSERT_TRUE(stream.Announce(1, request));
  ASSERT_TRUE(stream.SendPiece(1, request.payloads(0)));
  AskMeanwhile(stream, 2);
  ASSERT_TRUE(stream.SendPiece(1, request.payloads(1)));
  const std::string& last = request.payloads(2);
  for (uint64_t sent = 0; sent < last.size(); sent += 7001) {
    AskMeanwhile(stream, 3 + sent);
    EXPECT_GE(server.server().usage().bytes, 2 * last.size());
    ASSERT_TRUE(stream.SendPiece(1, last.substr(sent, 7001)));
  }
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

TEST(UnevenInputsTest, PartsOfARun) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = IfRequest(2000);
  ASSERT_TRUE(stream.Offer(1, request, 9000));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  const uint64_t runs = (2000 + terms.run_bytes(0) - 1) / terms.run_bytes(0);
  ASSERT_GT(runs, 1u);
  uint64_t other = 2;
  for (uint64_t run = 0; run < runs; ++run) {
    const auto part = [&](int i) {
      return request.payloads(i).substr(run * terms.run_bytes(i), terms.run_bytes(i));
    };
    ASSERT_TRUE(stream.SendPiece(1, part(0)));
    AskMeanwhile(stream, other++);
    ASSERT_TRUE(stream.SendPiece(1, part(1)));
    AskMeanwhile(stream, other++);
    const std::string last = part(2);
    for (uint64_t sent = 0; sent < last.size(); sent += 999) {
      // Nothing is computed of a run that lacks an input.
      EXPECT_EQ(stream.answer(1).messages, static_cast<int>(run));
      ASSERT_TRUE(stream.SendPiece(1, last.substr(sent, 999)));
      if (sent + 999 < last.size()) AskMeanwhile(stream, other++);
    }
    ASSERT_TRUE(stream.ReadMessage());
  }
  EXPECT_TRUE(stream.answer(1).has_response) << stream.answer(1).error.message();
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

// An input that is ahead by more than a run has come where another one is missing: the server can
// tell where their lengths differ, and computes nothing of it.
TEST(UnevenInputsTest, AnInputAheadOfItsRunBreaksTheRules) {
  TestServer server;
  TestStream stream(server.stub());
  const v1::ExecuteRequest request = IfRequest(2000);
  ASSERT_TRUE(stream.Offer(1, request, 9000));
  const v1::PipelineTerms terms = *stream.answer(1).terms;
  // Both floating-point inputs have four times the bytes of the conditions.
  for (uint64_t run = 0; run < 2; ++run) {
    stream.SendPiece(1, request.payloads(1).substr(run * terms.run_bytes(1), terms.run_bytes(1)));
  }
  const grpc::Status status = stream.ReadEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("more than is missing of the run"));
  ExpectNothingHeld(server);
}

}  // namespace
}  // namespace opserve::testing
