// How a stream cuts requests into messages, and in which order it sends them.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/stream/stream_outbox.h"
#include "client/wire/outgoing_pieces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::span<const std::byte> SpanOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

v1::ExecuteStreamRequest Decode(const grpc::ByteBuffer& bytes) {
  v1::ExecuteStreamRequest message;
  EXPECT_TRUE(message.ParseFromString(testing::BytesOf(bytes)));
  return message;
}

v1::ExecuteStreamRequest NextOf(OutgoingPieces& pieces) {
  PayloadHold hold;
  return Decode(Compose(pieces.Next(), hold));
}

std::string RequestHeader() {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  return StreamedCall({request.SerializeAsString()}).header;
}

TEST(OutgoingPiecesTest, WhatFitsGoesWhole) {
  const std::string a = "abc";
  const std::string b = "d";
  OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(a), SpanOf(b)}}, 4);
  EXPECT_TRUE(pieces.is_whole());
  EXPECT_EQ(pieces.bytes(), 4u);
  EXPECT_FALSE(pieces.is_complete());
  const v1::ExecuteStreamRequest message = NextOf(pieces);
  EXPECT_EQ(message.id(), 7u);
  EXPECT_EQ(message.request().operator_(), "ELEMENT_WISE_ROUND");
  EXPECT_THAT(message.payload_bytes(), IsEmpty());
  EXPECT_THAT(message.payloads(), ElementsAre("abc", "d"));
  EXPECT_TRUE(pieces.is_complete());
}

// Addresses of 5 GiB and one byte, behind which there is no memory.
class LargeRange {
 public:
  LargeRange()
      : data_(
            mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~LargeRange() { munmap(data_, kBytes); }
  LargeRange(const LargeRange&) = delete;
  LargeRange& operator=(const LargeRange&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), kBytes};
  }

  static constexpr uint64_t kBytes = (uint64_t{5} << 30) + 1;

 private:
  void* const data_;
};

// The offsets go on where the piece before has ended, beyond 32 bits too.
TEST(OutgoingPiecesTest, APayloadMayBeLargerThan4GiB) {
  constexpr uint64_t kPiece = uint64_t{1} << 30;
  const LargeRange range;
  for (const bool is_in_runs : {false, true}) {
    OutgoingPieces pieces(7, {RequestHeader(), {range.bytes()}}, kPiece, 0);
    EXPECT_EQ(pieces.bytes(), LargeRange::kBytes);
    EXPECT_THAT(pieces.Next().payloads, IsEmpty()) << "it is an offer";
    if (is_in_runs) {
      ASSERT_TRUE(pieces.OnTerms({{kPiece}, 6}));
    } else {
      pieces.OnRefusedTerms();
    }
    uint64_t sent = 0;
    int messages = 0;
    while (!pieces.is_complete()) {
      const OutgoingMessage message = pieces.Next();
      ASSERT_EQ(message.payloads.size(), 1u);
      EXPECT_EQ(message.payloads[0].data(), range.bytes().data() + sent);
      sent += message.payloads[0].size();
      ++messages;
    }
    EXPECT_EQ(sent, LargeRange::kBytes);
    EXPECT_EQ(messages, 6);
  }
}

TEST(OutgoingPiecesTest, NoMessageIsLargerThanGrpcCanSend) {
  const LargeRange range;
  OutgoingPieces pieces(7, {RequestHeader(), {range.bytes()}}, UINT64_MAX);
  EXPECT_FALSE(pieces.is_whole());
  for (int messages = 0; messages < 6; ++messages) {
    const OutgoingMessage message = pieces.Next();
    ASSERT_EQ(message.payloads.size(), 1u);
    EXPECT_LE(message.payloads[0].size(), uint64_t{1} << 30);
  }
  EXPECT_TRUE(pieces.is_complete());
}

// The empty request is what servers refuse that know no sequences.
TEST(OutgoingPiecesTest, ASequenceGoesBesideAnEmptyRequest) {
  v1::ExecuteSequenceRequest sequence;
  sequence.add_steps()->set_operator_("ELEMENT_WISE_ROUND");
  const std::string a = "abc";
  OutgoingPieces pieces(7, StreamedSequence({sequence.SerializeAsString(), {SpanOf(a)}}), 2, 0);
  const v1::ExecuteStreamRequest message = NextOf(pieces);
  EXPECT_EQ(message.id(), 7u);
  EXPECT_TRUE(message.has_request());
  EXPECT_EQ(message.request().ByteSizeLong(), 0u);
  EXPECT_EQ(message.sequence().SerializeAsString(), sequence.SerializeAsString());
  EXPECT_THAT(message.pipeline().payload_bytes(), ElementsAre(3));
}

TEST(OutgoingPiecesTest, ARequestWithoutPayloadsIsOneMessage) {
  OutgoingPieces pieces(7, {RequestHeader()}, 4);
  EXPECT_FALSE(pieces.is_complete());
  EXPECT_TRUE(NextOf(pieces).has_request());
  EXPECT_TRUE(pieces.is_complete());
}

TEST(OutgoingPiecesTest, PiecesFillThePayloadsInOrder) {
  const std::string a = "abcde";
  const std::string none;
  const std::string b = "fgh";
  OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(none), SpanOf(a), SpanOf(none), SpanOf(b)}},
                        4);
  EXPECT_FALSE(pieces.is_whole());
  const v1::ExecuteStreamRequest first = NextOf(pieces);
  EXPECT_TRUE(first.has_request());
  EXPECT_THAT(first.payload_bytes(), ElementsAre(0, 5, 0, 3));
  EXPECT_THAT(first.payloads(), ElementsAre("abcd"));
  EXPECT_FALSE(pieces.is_complete());
  const v1::ExecuteStreamRequest second = NextOf(pieces);
  EXPECT_EQ(second.id(), 7u);
  EXPECT_FALSE(second.has_request());
  EXPECT_THAT(second.payload_bytes(), IsEmpty());
  EXPECT_THAT(second.payloads(), ElementsAre("e", "fgh"));
  EXPECT_TRUE(pieces.is_complete());
}

TEST(OutgoingPiecesTest, RunsHaveTheirPartOfEveryPayload) {
  const std::string a = "abcdefg";
  const std::string b = "ABCDEFGHIJKLMN";
  OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(a), SpanOf(b)}}, 10, 15);
  EXPECT_FALSE(pieces.awaits_terms());
  const v1::ExecuteStreamRequest offer = NextOf(pieces);
  EXPECT_TRUE(offer.has_request());
  EXPECT_THAT(offer.payload_bytes(), IsEmpty());
  EXPECT_THAT(offer.payloads(), IsEmpty());
  EXPECT_THAT(offer.pipeline().payload_bytes(), ElementsAre(7, 14));
  EXPECT_EQ(offer.pipeline().run_bytes(), 10u);
  EXPECT_TRUE(pieces.awaits_terms());
  EXPECT_FALSE(pieces.can_go_on());
  EXPECT_FALSE(pieces.is_complete());
  EXPECT_EQ(pieces.open_bytes(), 21u);

  ASSERT_TRUE(pieces.OnTerms({{3, 6}, 2}));
  EXPECT_EQ(pieces.open_bytes(), 18u);
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("abc", "ABCDEF"));
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("def", "GHIJKL"));
  EXPECT_FALSE(pieces.can_go_on());
  EXPECT_TRUE(pieces.OnRunAnswered());
  EXPECT_TRUE(pieces.can_go_on());
  const v1::ExecuteStreamRequest last = NextOf(pieces);
  EXPECT_EQ(last.id(), 7u);
  EXPECT_FALSE(last.has_request());
  EXPECT_THAT(last.payloads(), ElementsAre("g", "MN"));
  EXPECT_TRUE(pieces.is_complete());
  EXPECT_FALSE(pieces.can_go_on());
  EXPECT_TRUE(pieces.OnRunAnswered());
  EXPECT_TRUE(pieces.OnRunAnswered());
  EXPECT_FALSE(pieces.OnRunAnswered()) << "more than were sent";
}

TEST(OutgoingPiecesTest, SomePayloadsAreSentAheadOfTheRuns) {
  const std::string a = "abcdefg";
  const std::string b = "ABCDEF";
  const std::string c = "123456789";
  OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(a), SpanOf(b), SpanOf(c)}}, 10, 15);
  EXPECT_TRUE(NextOf(pieces).pipeline().sends_ahead());
  ASSERT_TRUE(pieces.OnTerms({{0, 4, 0}, 1}));
  EXPECT_EQ(pieces.open_bytes(), 20u);
  // One after the other, in messages of as many bytes as others have.
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("abcdefg", "123"));
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("456789"));
  EXPECT_TRUE(pieces.can_go_on());
  EXPECT_FALSE(pieces.OnRunAnswered()) << "no run is open";
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("", "ABCD", ""));
  EXPECT_FALSE(pieces.can_go_on());
  EXPECT_TRUE(pieces.OnRunAnswered());
  EXPECT_THAT(NextOf(pieces).payloads(), ElementsAre("", "EF", ""));
  EXPECT_TRUE(pieces.is_complete());
}

TEST(OutgoingPiecesTest, OnlyLargeRequestsAreOffered) {
  const std::string a = "abcdefghijklmno";
  OutgoingPieces small(7, {RequestHeader(), {SpanOf(a)}}, 10, 15);
  EXPECT_FALSE(NextOf(small).has_pipeline());
  OutgoingPieces whole(7, {RequestHeader(), {SpanOf(a)}}, 100, 0);
  EXPECT_FALSE(NextOf(whole).has_pipeline());
}

TEST(OutgoingPiecesTest, TermsThatMakeNoSenseAreNotKept) {
  const std::string a = "abcdefg";
  const std::string b = "ABCDEFGHIJKLMN";
  const std::vector<RunTerms> wrong = {{{3}, 2},    {{3, 6, 1}, 2}, {{3, 6}, 0},
                                       {{0, 0}, 2}, {{3, 7}, 2},    {{8, 14}, 2}};
  for (const RunTerms& terms : wrong) {
    OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(a), SpanOf(b)}}, 10, 0);
    EXPECT_FALSE(pieces.OnTerms({{3, 6}, 2})) << "before the offer";
    NextOf(pieces);
    EXPECT_FALSE(pieces.OnTerms(terms));
    EXPECT_TRUE(pieces.OnTerms({{3, 6}, 2}));
    EXPECT_FALSE(pieces.OnTerms({{3, 6}, 2})) << "twice";
  }
}

TEST(OutgoingPiecesTest, AWithdrawnOfferBeginsAnew) {
  const std::string a = "abcdefgh";
  OutgoingPieces pieces(7, {RequestHeader(), {SpanOf(a)}}, 5, 0);
  EXPECT_TRUE(NextOf(pieces).has_pipeline());
  pieces.Withdraw();
  const v1::ExecuteStreamRequest first = NextOf(pieces);
  EXPECT_TRUE(first.has_request());
  EXPECT_FALSE(first.has_pipeline());
  EXPECT_THAT(first.payload_bytes(), ElementsAre(8));
  EXPECT_THAT(first.payloads(), ElementsAre("abcde"));
}

class StreamOutboxTest : public ::testing::Test {
 protected:
  // A request of so many bytes; more than 10 come in pieces of 10.
  StreamOutbox::RequestPtr Push(size_t bytes) {
    texts_.push_back(std::make_unique<std::string>(bytes, 'x'));
    auto request = std::make_shared<OutgoingRequest>(
        texts_.size(), OutgoingMessage{RequestHeader(), {SpanOf(*texts_.back())}}, 10);
    outbox_.Push(request);
    return request;
  }

  // The ids of the messages that may be sent now, those that cancel negative.
  std::vector<int> Drain() {
    std::vector<int> ids;
    while (const auto bytes = outbox_.Next()) {
      const v1::ExecuteStreamRequest message = Decode(*bytes);
      ids.push_back(static_cast<int>(message.id()) * (message.cancel() ? -1 : 1));
    }
    return ids;
  }

  StreamOutbox outbox_{100};
  std::vector<std::unique_ptr<std::string>> texts_;
};

TEST_F(StreamOutboxTest, WholeRequestsDoNotWaitForLargeOnes) {
  Push(30);
  Push(1);
  Push(1);
  EXPECT_THAT(Drain(), ElementsAre(2, 1, 3, 1, 1));
}

TEST_F(StreamOutboxTest, TwoLargeRequestsTakeTurns) {
  Push(30);
  Push(20);
  Push(20);
  EXPECT_THAT(Drain(), ElementsAre(1, 2, 1, 2, 1, 3, 3));
}

TEST_F(StreamOutboxTest, RequestsWaitInOrderForThoseInFlight) {
  const auto first = Push(60);
  Push(50);
  const auto third = Push(1);
  EXPECT_THAT(Drain(), ElementsAre(1, 1, 1, 1, 1, 1));
  outbox_.OnAnswered(first);
  EXPECT_THAT(Drain(), ElementsAre(3, 2, 2, 2, 2, 2));
}

TEST_F(StreamOutboxTest, OneThatIsTooLargeGoesAlone) {
  const auto small = Push(1);
  const auto large = Push(120);
  Push(1);
  EXPECT_THAT(Drain(), ElementsAre(1));
  outbox_.OnAnswered(small);
  EXPECT_EQ(Drain().size(), 12u);
  outbox_.OnAnswered(large);
  EXPECT_THAT(Drain(), ElementsAre(3));
}

TEST_F(StreamOutboxTest, WhatTheServerDoesNotKnowIsForgotten) {
  const auto begun = Push(100);
  const auto waiting = Push(5);
  EXPECT_FALSE(outbox_.Cancel(waiting));
  EXPECT_TRUE(outbox_.Next());
  EXPECT_TRUE(outbox_.Cancel(begun));
  EXPECT_TRUE(outbox_.Cancel(begun));
  EXPECT_THAT(Drain(), ElementsAre(-1));
  // It counts until it is answered.
  Push(100);
  EXPECT_THAT(Drain(), IsEmpty());
  outbox_.OnAnswered(begun);
  EXPECT_EQ(Drain().size(), 10u);
}

TEST_F(StreamOutboxTest, OneThatHasBegunButIsNotSentFreesItsRoom) {
  Push(1);
  const auto second = Push(9);
  EXPECT_TRUE(outbox_.Next());
  EXPECT_FALSE(outbox_.Cancel(second));
  EXPECT_THAT(Drain(), IsEmpty());
  Push(99);
  EXPECT_EQ(Drain().size(), 10u);
}

TEST_F(StreamOutboxTest, AnAnswerBeforeTheLastPieceStopsTheRest) {
  const auto request = Push(50);
  EXPECT_TRUE(outbox_.Next());
  outbox_.OnAnswered(request);
  EXPECT_THAT(Drain(), ElementsAre(-1));
}

}  // namespace
}  // namespace opserve::client_internal
