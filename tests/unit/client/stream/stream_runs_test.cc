// Requests of a stream that are sent in runs, over a script that plays the server: terms, windows,
// servers that know no offers, and answers that are parts.

#include <cstdint>
#include <optional>
#include <string>

#include "client/stream/answer_assembly.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/rpc/status.pb.h"
#include "tests/unit/client/stream/stream_fixture.h"

namespace opserve::client_internal {
namespace {

using ::testing::HasSubstr;
using testing::PieceFor;
using testing::TextOf;

v1::ExecuteStreamResponse TermsFor(uint64_t id, uint64_t run_bytes, uint32_t open, uint64_t bytes) {
  v1::ExecuteStreamResponse terms;
  terms.set_id(id);
  terms.mutable_pipeline()->add_run_bytes(run_bytes);
  terms.mutable_pipeline()->set_max_open_runs(open);
  terms.set_payload_bytes(bytes);
  return terms;
}

// The last message of an answer in runs.
v1::ExecuteStreamResponse LastFor(uint64_t id, const std::string& payload, uint64_t bytes) {
  v1::ExecuteStreamResponse last = testing::AnswerTo(id, payload, bytes);
  last.clear_payload_bytes();
  return last;
}

v1::ExecuteStreamResponse OfferRefused(uint64_t id, bool knows_offers) {
  rpc::Status error;
  error.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  error.set_message("payloads are missing");
  v1::ExecuteStreamResponse message;
  message.set_id(id);
  message.set_error(error.SerializeAsString());
  if (knows_offers) message.mutable_pipeline();
  return message;
}

// Every request in pieces is offered.
class ClientRunsTest : public testing::ClientStreamTest {
 protected:
  ClientRunsTest() : ClientStreamTest(0) {}

  // Submits a request of two and a half runs of kPiece bytes, and takes the offer.
  uint64_t SubmitOffered() {
    const uint64_t id = Submit(text_);
    const auto offer = server_->Receive();
    EXPECT_TRUE(offer && offer->id() == id && offer->has_pipeline());
    EXPECT_FALSE(server_->Peek()) << "it waits for the terms";
    return id;
  }

  const std::string text_ =
      std::string(kPiece, 'a') + std::string(kPiece, 'b') + std::string(kPiece / 2, 'c');
};

TEST_F(ClientRunsTest, NeverMoreRunsThanMayBeOpen) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  EXPECT_EQ(server_->Receive()->payloads(0), text_.substr(0, kPiece));
  EXPECT_FALSE(server_->Peek());
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  EXPECT_EQ(server_->Receive()->payloads(0), text_.substr(kPiece, kPiece));
  EXPECT_FALSE(server_->Peek());
  server_->Send(PieceFor(id, std::string(kPiece, 'B')));
  EXPECT_EQ(server_->Receive()->payloads(0), text_.substr(2 * kPiece));
  EXPECT_FALSE(IsDone(id));
  server_->Send(LastFor(id, std::string(kPiece / 2, 'C'), text_.size()));
  EXPECT_EQ(TextOf(*Outcome(id).output),
            std::string(kPiece, 'A') + std::string(kPiece, 'B') + std::string(kPiece / 2, 'C'));
  EXPECT_EQ(Outcome(id).info.device, "cpu");
}

TEST_F(ClientRunsTest, OthersGoOnWhileOneWaits) {
  const uint64_t waiting = SubmitOffered();
  const uint64_t small = Submit("s");
  EXPECT_EQ(server_->Receive()->id(), small);
  const uint64_t other = Submit(text_);
  EXPECT_EQ(server_->Receive()->id(), other);
  server_->Send(TermsFor(other, kPiece, 3, text_.size()));
  for (int run = 0; run < 3; ++run) EXPECT_EQ(server_->Receive()->id(), other);
  server_->Send(TermsFor(waiting, kPiece, 3, text_.size()));
  EXPECT_EQ(server_->Receive()->id(), waiting);
}

TEST_F(ClientRunsTest, AServerMayWantThePayloadsInOrder) {
  const uint64_t id = SubmitOffered();
  v1::ExecuteStreamResponse declined;
  declined.set_id(id);
  declined.mutable_pipeline()->set_reason("of this and that");
  server_->Send(declined);
  const auto first = server_->Receive();
  EXPECT_FALSE(first->has_request()) << "the server has it";
  EXPECT_EQ(first->payloads(0), text_.substr(0, kPiece));
  server_->Receive();
  EXPECT_EQ(server_->Receive()->payloads(0), text_.substr(2 * kPiece));
  EXPECT_FALSE(server_->Peek());
  server_->Send(testing::AnswerTo(id, "whole"));
  EXPECT_EQ(TextOf(*Outcome(id).output), "whole");
}

TEST_F(ClientRunsTest, AnOldServerGetsTheRequestAnewAndNoMoreOffers) {
  const uint64_t id = SubmitOffered();
  server_->Send(OfferRefused(id, /*knows_offers=*/false));
  const auto first = server_->Receive();
  EXPECT_EQ(first->id(), id);
  EXPECT_TRUE(first->has_request());
  EXPECT_FALSE(first->has_pipeline());
  EXPECT_EQ(first->payload_bytes(0), text_.size());
  EXPECT_EQ(first->payloads(0), text_.substr(0, kPiece));
  server_->Receive();
  server_->Receive();
  server_->Send(testing::AnswerTo(id, "whole"));
  EXPECT_EQ(TextOf(*Outcome(id).output), "whole");
  Submit(text_);
  EXPECT_FALSE(server_->Receive()->has_pipeline());
}

TEST_F(ClientRunsTest, TheRefusalOfAServerThatKnowsOffersIsTheOutcome) {
  const uint64_t id = SubmitOffered();
  server_->Send(OfferRefused(id, /*knows_offers=*/true));
  EXPECT_TRUE(absl::IsInvalidArgument(StatusOf(id)));
}

TEST_F(ClientRunsTest, AnErrorHalfWayIsTheOutcome) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  server_->Receive();
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  server_->Proceed();
  server_->Send(OfferRefused(id, /*knows_offers=*/true));
  EXPECT_TRUE(absl::IsInvalidArgument(StatusOf(id)));
  // The server waits for nothing more.
  EXPECT_TRUE(server_->Receive()->cancel());
  EXPECT_FALSE(server_->is_cancelled());
}

// Nobody wants the result, so there is no memory for it.
TEST(AnswerAssemblyTest, AnAnswerMayBeLargerThan4GiB) {
  constexpr uint64_t kBytes = uint64_t{5} << 30;
  AnswerAssembly answer(std::nullopt);
  EXPECT_TRUE(answer.Add(TermsFor(1, kBytes / 2, 1, kBytes), {}, nullptr).ok());
  v1::ExecuteStreamResponse last = LastFor(1, "12345678", 0);
  v1::TensorDesc& output = *last.mutable_response()->mutable_output();
  output.set_data_type(v1::DATA_TYPE_FLOAT64);
  output.clear_sizes();
  output.add_sizes(kBytes / 8 / 1024);
  output.add_sizes(1024);
  grpc::ByteBuffer bytes = testing::BufferOf(last.SerializeAsString(), 1 << 10);
  ResponseMessage message;
  ASSERT_TRUE(message.Read(bytes).ok());
  EXPECT_THAT(std::string(answer.Add(last, message, nullptr).message()),
              HasSubstr("where 5368709112 bytes are missing"));
}

TEST_F(ClientRunsTest, APartIsNoResult) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 3, text_.size()));
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  server_->End(absl::OkStatus());
  clock_.Advance(absl::ZeroDuration());
  server_->Release();
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(id))) << StatusOf(id);
}

TEST_F(ClientRunsTest, AllBytesWithoutAResponseAreNoResult) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 3, kPiece));
  server_->Receive();
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  EXPECT_FALSE(IsDone(id));
}

// What a server must not do, each of which ends the stream.
class BrokenRunsTest : public ClientRunsTest {
 protected:
  void ExpectBroken(const std::string& why) {
    EXPECT_TRUE(server_->is_cancelled());
    server_->Release();
    server_->End(absl::CancelledError("cancelled"));
    clock_.Advance(absl::ZeroDuration());
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(1))) << StatusOf(1);
    EXPECT_THAT(std::string(StatusOf(1).message()), HasSubstr(why));
  }
};

TEST_F(BrokenRunsTest, TermsThatCannotBeKept) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, 0, 1, 10));
  ExpectBroken("terms");
}

TEST_F(BrokenRunsTest, TermsTwice) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  ExpectBroken("terms");
}

TEST_F(BrokenRunsTest, AResponseBeforeTheEnd) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  server_->Send(LastFor(id, std::string(kPiece, 'A'), text_.size()));
  ExpectBroken("it ends where");
}

TEST_F(BrokenRunsTest, AResponseForAnotherLength) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, kPiece));
  server_->Send(LastFor(id, std::string(kPiece, 'A'), kPiece + 1));
  ExpectBroken("");
}

TEST_F(BrokenRunsTest, ARunThatWasNotSent) {
  const uint64_t id = SubmitOffered();
  server_->Send(TermsFor(id, kPiece, 1, text_.size()));
  server_->Send(PieceFor(id, std::string(kPiece, 'A')));
  server_->Send(PieceFor(id, std::string(kPiece, 'B')));
  ExpectBroken("was not sent");
}

}  // namespace
}  // namespace opserve::client_internal
