// Sequences over a script that plays the server: what is sent, answers, and servers that know none.

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/rpc/status.pb.h"
#include "tests/unit/client/stream/stream_fixture.h"

namespace opserve::client_internal {
namespace {

using ::testing::HasSubstr;
using testing::PieceFor;
using testing::TextOf;

// As AnswerTo of a call.
v1::ExecuteStreamResponse AnswerToSequence(uint64_t id, const std::string& payload,
                                           uint64_t bytes) {
  v1::ExecuteStreamResponse answer = testing::AnswerTo(id, payload, bytes);
  *answer.mutable_sequence()->add_outputs() = answer.response().output();
  *answer.mutable_sequence()->mutable_execution() = answer.response().execution();
  answer.clear_response();
  return answer;
}

v1::ExecuteStreamResponse Refusal(uint64_t id, absl::StatusCode code) {
  rpc::Status error;
  error.set_code(static_cast<int>(code));
  error.set_message("there is no operator of this name");
  v1::ExecuteStreamResponse message;
  message.set_id(id);
  message.set_error(error.SerializeAsString());
  return message;
}

// Every request in pieces is offered.
class ClientStreamSequenceTest : public testing::ClientStreamTest {
 protected:
  ClientStreamSequenceTest() : ClientStreamTest(0) {}

  void ExpectBroken(uint64_t id) {
    EXPECT_TRUE(server_->is_cancelled());
    server_->Release();
    server_->End(absl::CancelledError("cancelled"));
    clock_.Advance(absl::ZeroDuration());
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(id))) << StatusOf(id);
  }

  const std::string large_ = std::string(kPiece, 'a') + std::string(kPiece / 2, 'b');
};

TEST_F(ClientStreamSequenceTest, ASmallOneGoesWhole) {
  const uint64_t id = SubmitSequence("abc");
  const auto message = server_->Receive();
  EXPECT_EQ(message->request().ByteSizeLong(), 0u);
  EXPECT_EQ(message->sequence().steps(0).operator_(), "X");
  EXPECT_EQ(message->payloads(0), "abc");
  server_->Send(AnswerToSequence(id, "ABC", 3));
  EXPECT_EQ(TextOf(*Outcome(id).output), "ABC");
  EXPECT_EQ(Outcome(id).info.device, "cpu");
}

TEST_F(ClientStreamSequenceTest, ALargeOneGoesInRuns) {
  const uint64_t id = SubmitSequence(large_);
  const auto offer = server_->Receive();
  EXPECT_TRUE(offer->has_sequence());
  EXPECT_TRUE(offer->pipeline().sends_ahead());
  v1::ExecuteStreamResponse terms;
  terms.set_id(id);
  terms.mutable_pipeline()->add_run_bytes(kPiece);
  terms.mutable_pipeline()->set_max_open_runs(1);
  terms.set_payload_bytes(large_.size());
  server_->Send(terms);
  EXPECT_EQ(server_->Receive()->payloads(0), large_.substr(0, kPiece));
  EXPECT_FALSE(server_->Peek());
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  EXPECT_EQ(server_->Receive()->payloads(0), large_.substr(kPiece));
  EXPECT_FALSE(IsDone(id));
  v1::ExecuteStreamResponse last =
      AnswerToSequence(id, std::string(kPiece / 2, 'B'), large_.size());
  last.clear_payload_bytes();
  server_->Send(last);
  EXPECT_EQ(TextOf(*Outcome(id).output), std::string(kPiece, 'A') + std::string(kPiece / 2, 'B'));
}

// Whether it knows offers or not: neither kind says a word about the sequence.
TEST_F(ClientStreamSequenceTest, AServerThatKnowsNoneIsTold) {
  for (const bool knows_offers : {false, true}) {
    const uint64_t id = SubmitSequence(large_);
    server_->Receive();
    v1::ExecuteStreamResponse refusal = Refusal(id, absl::StatusCode::kInvalidArgument);
    if (knows_offers) refusal.mutable_pipeline();
    server_->Send(refusal);
    EXPECT_TRUE(absl::IsUnimplemented(StatusOf(id))) << StatusOf(id);
    EXPECT_THAT(std::string(StatusOf(id).message()), HasSubstr("Client::ExecuteSequence"));
    // It is told that nothing follows, and calls are still offered.
    EXPECT_TRUE(server_->Receive()->cancel());
  }
  Submit(large_);
  EXPECT_TRUE(server_->Receive()->has_pipeline());
}

TEST_F(ClientStreamSequenceTest, OtherErrorsAreTheOutcome) {
  const uint64_t busy = SubmitSequence("abc");
  server_->Receive();
  server_->Send(Refusal(busy, absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(busy))) << StatusOf(busy);
  const uint64_t invalid = SubmitSequence("abc");
  server_->Receive();
  v1::ExecuteStreamResponse refusal = Refusal(invalid, absl::StatusCode::kInvalidArgument);
  refusal.mutable_sequence();
  server_->Send(refusal);
  EXPECT_TRUE(absl::IsInvalidArgument(StatusOf(invalid))) << StatusOf(invalid);
}

TEST_F(ClientStreamSequenceTest, OutputsThatAStreamCannotBringAreNotAskedFor) {
  const uint64_t placed =
      SubmitSequence("abc", {{.step = 1}, {.step = 0, .place = TensorHandle{"t"}}});
  EXPECT_TRUE(absl::IsInvalidArgument(StatusOf(placed))) << StatusOf(placed);
  EXPECT_FALSE(server_->Peek());
  const uint64_t one = SubmitSequence("abc", {{.step = 0}});
  EXPECT_EQ(server_->Receive()->id(), one);
  server_->Send(AnswerToSequence(one, "ABC", 3));
  EXPECT_EQ(TextOf(*Outcome(one).output), "ABC");
}

// An answer with these lengths, whose specs are those of the lengths.
v1::ExecuteStreamResponse LengthsOf(uint64_t id, const std::vector<uint64_t>& lengths) {
  v1::ExecuteStreamResponse message;
  message.set_id(id);
  message.mutable_each_payload_bytes()->Assign(lengths.begin(), lengths.end());
  return message;
}

v1::ExecuteStreamResponse PieceOf(uint32_t number, uint64_t id, const std::string& payload) {
  v1::ExecuteStreamResponse piece = PieceFor(id, payload);
  piece.set_payload_number(number);
  return piece;
}

void AddOutputs(const std::vector<uint32_t>& sizes, v1::ExecuteStreamResponse& message) {
  for (const uint32_t size : sizes) {
    v1::TensorDesc& output = *message.mutable_sequence()->add_outputs();
    output.set_data_type(v1::DATA_TYPE_UINT8);
    output.add_sizes(size);
  }
}

TEST_F(ClientStreamSequenceTest, PiecesOfSeveralOutputsMayAlternate) {
  const uint64_t id = SubmitSequence("abc", {{.step = 1}, {.step = 0}});
  EXPECT_EQ(server_->Receive()->sequence().outputs_size(), 2);
  v1::ExecuteStreamResponse first = LengthsOf(id, {4, 3});
  AddOutputs({4, 3}, first);
  first.set_payload("AB");
  server_->Send(first);
  server_->Send(PieceOf(1, id, "x"));
  server_->Send(PieceOf(0, id, "CD"));
  EXPECT_FALSE(IsDone(id));
  server_->Send(PieceOf(1, id, "yz"));
  ASSERT_EQ(Outcome(id).outputs.size(), 2u);
  EXPECT_EQ(TextOf(*Outcome(id).outputs[0].tensor), "ABCD");
  EXPECT_EQ(TextOf(*Outcome(id).outputs[1].tensor), "xyz");
  EXPECT_EQ(Outcome(id).outputs[1].spec.sizes, (std::vector<uint32_t>{3}));
}

// In runs of which each has a part of both: the next one is sent once both have come.
class ClientStreamOutputsTest : public ClientStreamSequenceTest {
 protected:
  ClientStreamOutputsTest() {
    server_->Receive();
    v1::ExecuteStreamResponse terms = LengthsOf(id_, {3, 6});
    terms.mutable_pipeline()->add_run_bytes(kPiece);
    terms.mutable_pipeline()->set_max_open_runs(1);
    server_->Send(terms);
    EXPECT_EQ(server_->Receive()->payloads(0), large_.substr(0, kPiece));
  }

  const uint64_t id_ = SubmitSequence(large_, {{.step = 1}, {.step = 0}});
};

TEST_F(ClientStreamOutputsTest, ARunHasAPartOfEach) {
  server_->Send(PieceOf(0, id_, "AB"));
  EXPECT_FALSE(server_->Peek());
  server_->Send(PieceOf(1, id_, "wxyz"));
  EXPECT_EQ(server_->Receive()->payloads(0), large_.substr(kPiece));
  server_->Send(PieceOf(0, id_, "C"));
  EXPECT_FALSE(IsDone(id_));
  v1::ExecuteStreamResponse last = PieceOf(1, id_, "12");
  AddOutputs({3, 6}, last);
  server_->Send(last);
  ASSERT_EQ(Outcome(id_).outputs.size(), 2u);
  EXPECT_EQ(TextOf(*Outcome(id_).outputs[0].tensor), "ABC");
  EXPECT_EQ(TextOf(*Outcome(id_).outputs[1].tensor), "wxyz12");
}

TEST_F(ClientStreamOutputsTest, APartIsNotTheWhole) {
  server_->Send(PieceOf(0, id_, "ABC"));
  v1::ExecuteStreamResponse last = PieceOf(1, id_, "wxyz1");
  AddOutputs({3, 6}, last);
  server_->Send(last);
  ExpectBroken(id_);
}

TEST_F(ClientStreamOutputsTest, AnErrorHalfWayIsTheOutcomeOfAll) {
  server_->Send(PieceOf(0, id_, "ABC"));
  server_->Send(Refusal(id_, absl::StatusCode::kInternal));
  EXPECT_TRUE(absl::IsInternal(StatusOf(id_))) << StatusOf(id_);
  EXPECT_TRUE(Outcome(id_).outputs.empty());
}

TEST_F(ClientStreamOutputsTest, APieceOfNoOutputBreaksTheRules) {
  server_->Send(PieceOf(2, id_, "A"));
  ExpectBroken(id_);
}

TEST_F(ClientStreamOutputsTest, APieceBeyondItsOutputBreaksTheRules) {
  server_->Send(PieceOf(0, id_, "ABCD"));
  ExpectBroken(id_);
}

// One length for two outputs, and two for one.
TEST_F(ClientStreamSequenceTest, LengthsAreThoseOfTheOutputs) {
  const uint64_t id = SubmitSequence("abc", {{.step = 1}, {.step = 0}});
  server_->Receive();
  v1::ExecuteStreamResponse answer = AnswerToSequence(id, "ABC", 3);
  AddOutputs({3}, answer);
  server_->Send(answer);
  ExpectBroken(id);
}

TEST_F(ClientStreamSequenceTest, LengthsOfOneOutputAreOne) {
  const uint64_t id = SubmitSequence("abc");
  server_->Receive();
  v1::ExecuteStreamResponse answer = AnswerToSequence(id, "ABC", 3);
  answer.add_each_payload_bytes(3);
  answer.add_each_payload_bytes(0);
  server_->Send(answer);
  ExpectBroken(id);
}

TEST_F(ClientStreamSequenceTest, AnAnswerToACallIsNone) {
  const uint64_t id = SubmitSequence("abc");
  server_->Receive();
  server_->Send(testing::AnswerTo(id, "ABC"));
  ExpectBroken(id);
}

TEST_F(ClientStreamSequenceTest, AnAnswerOfSequencesIsNoneToACall) {
  const uint64_t id = Submit("abc");
  server_->Receive();
  server_->Send(AnswerToSequence(id, "ABC", 3));
  ExpectBroken(id);
}

}  // namespace
}  // namespace opserve::client_internal
