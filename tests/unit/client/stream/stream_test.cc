// Streams of the client, over a script that plays the server: who gets which answer, and how
// requests and streams end.

#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "opserve/rpc/status.pb.h"
#include "tests/unit/client/rpc/statuses.h"
#include "tests/unit/client/stream/stream_fixture.h"

namespace opserve::client_internal {
namespace {

using testing::AnswerTo;
using testing::ClientStreamTest;
using ::testing::HasSubstr;
using testing::PieceFor;
using testing::TextOf;

// An input that is lent, not copied.
const std::string kLong(3 * kLeastLentBytes, 'l');

v1::ExecuteStreamResponse ErrorFor(uint64_t id, const std::string& error) {
  v1::ExecuteStreamResponse message;
  message.set_id(id);
  message.set_error(error);
  return message;
}

std::string RefusalAsBytes() {
  rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(3);
  rpc::Status error;
  error.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  error.set_message("full");
  auto* detail = error.add_details();
  detail->set_type_url(std::string(kRetryInfoUrl));
  detail->set_value(retry.SerializeAsString());
  return error.SerializeAsString();
}

TEST_F(ClientStreamTest, AnswersComeInAnyOrder) {
  const uint64_t a = Submit("aa");
  const uint64_t b = Submit("b");
  const auto sent = server_->Receive();
  EXPECT_EQ(sent->id(), a);
  EXPECT_EQ(sent->request().operator_(), "X");
  EXPECT_EQ(sent->payloads(0), "aa");
  EXPECT_EQ(sent->payload_bytes_size(), 0);
  EXPECT_EQ(server_->Receive()->id(), b);
  server_->Send(AnswerTo(b, "B"));
  EXPECT_FALSE(IsDone(a));
  server_->Send(AnswerTo(a, "AA"));
  EXPECT_EQ(TextOf(*Outcome(a).output), "AA");
  EXPECT_EQ(TextOf(*Outcome(b).output), "B");
  EXPECT_EQ(Outcome(a).info.device, "cpu");
  EXPECT_EQ(Outcome(a).info.sends, 1);
}

TEST_F(ClientStreamTest, AnswersInPiecesAlternate) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  while (server_->Receive()) continue;
  server_->Send(AnswerTo(a, "12", 6));
  server_->Send(AnswerTo(b, "", 3));
  server_->Send(PieceFor(a, "34"));
  server_->Send(PieceFor(b, "abc"));
  EXPECT_TRUE(IsDone(b));
  EXPECT_FALSE(IsDone(a));
  server_->Send(PieceFor(a, "56"));
  EXPECT_EQ(TextOf(*Outcome(a).output), "123456");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Outcome(a).output->bytes().data()) % 64, 0u);
}

TEST_F(ClientStreamTest, AnErrorIsThatOfItsRequest) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  while (server_->Receive()) continue;
  server_->Send(ErrorFor(a, RefusalAsBytes()));
  EXPECT_EQ(StatusOf(a).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(StatusOf(a).message(), "full");
  EXPECT_EQ(GetRetryDelay(StatusOf(a)), absl::Seconds(3));
  server_->Send(AnswerTo(b, "B"));
  EXPECT_TRUE(StatusOf(b).ok());
}

TEST_F(ClientStreamTest, LaterStreamsLearnFromWhoRefusesWhatAnotherHostHas) {
  rpc::ErrorInfo info;
  info.set_reason(kWrongHost);
  (*info.mutable_metadata())["host"] = "a:1";
  rpc::Status error;
  error.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
  auto* detail = error.add_details();
  detail->set_type_url(std::string(kErrorInfoUrl));
  detail->set_value(info.SerializeAsString());

  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  const uint64_t c = Submit("c");
  for (int i = 0; i < 3; ++i) server_->Receive();
  server_->Send(AnswerTo(a, "A"));
  server_->Send(ErrorFor(b, RefusalAsBytes()));
  EXPECT_TRUE(server_->judged().empty());
  server_->Send(ErrorFor(c, error.SerializeAsString()));
  ASSERT_EQ(server_->judged().size(), 1u);
  EXPECT_EQ(server_->judged().front(), StatusOf(c));
  EXPECT_EQ(GetErrorReason(StatusOf(c)), kWrongHost);
}

TEST_F(ClientStreamTest, TheRestOfARefusedRequestIsNotSent) {
  const std::string in_pieces(3 * kPiece, 'p');
  const uint64_t a = Submit(in_pieces);
  EXPECT_EQ(server_->Receive()->payload_bytes(0), in_pieces.size());
  server_->Send(ErrorFor(a, RefusalAsBytes()));
  EXPECT_FALSE(IsDone(a)) << "a piece is on its way";
  EXPECT_EQ(server_->Receive()->payloads_size(), 1);
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(a)));
  EXPECT_TRUE(server_->Receive()->cancel());
  EXPECT_FALSE(server_->Receive());
}

TEST_F(ClientStreamTest, ARequestThatWasNotSentIsCancelledAtOnce) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  stream_->Cancel(b);
  EXPECT_TRUE(absl::IsCancelled(StatusOf(b)));
  stream_->Cancel(b);
  stream_->Cancel(99);
  EXPECT_EQ(server_->Receive()->id(), a);
  EXPECT_FALSE(server_->Receive());
  server_->Send(AnswerTo(a, "A"));
  EXPECT_TRUE(StatusOf(a).ok());
}

TEST_F(ClientStreamTest, TheServerIsToldOfARequestThatIsCancelled) {
  const uint64_t a = Submit("a");
  server_->Receive();
  stream_->Cancel(a);
  EXPECT_TRUE(absl::IsCancelled(StatusOf(a)));
  const auto told = server_->Receive();
  EXPECT_EQ(told->id(), a);
  EXPECT_TRUE(told->cancel());
  // It was too late.
  server_->Send(AnswerTo(a, "1", 2));
  server_->Send(PieceFor(a, "2"));
  EXPECT_FALSE(server_->is_cancelled());
  EXPECT_TRUE(absl::IsCancelled(StatusOf(a)));
}

TEST_F(ClientStreamTest, SmallMessagesMayWaitForTheNext) {
  Submit("a");
  EXPECT_FALSE(server_->is_followed());
  const uint64_t b = Submit("b");
  const uint64_t c = Submit(std::string(64 << 10, 'c'));
  const uint64_t d = Submit("d");
  server_->Receive();
  EXPECT_TRUE(server_->is_followed());
  EXPECT_EQ(server_->Receive()->id(), b);
  EXPECT_FALSE(server_->is_followed()) << "large";
  EXPECT_EQ(server_->Receive()->id(), c);
  EXPECT_FALSE(server_->is_followed()) << "the last one";
  EXPECT_EQ(server_->Receive()->id(), d);
}

TEST_F(ClientStreamTest, WhatAnotherMessageWaitsForIsSentThoughItIsCancelled) {
  Submit("a");
  const uint64_t b = Submit("b");
  const uint64_t c = Submit("c");
  server_->Receive();
  EXPECT_TRUE(server_->is_followed());
  stream_->Cancel(c);
  EXPECT_TRUE(absl::IsCancelled(StatusOf(c)));
  EXPECT_EQ(server_->Receive()->id(), b);
  EXPECT_TRUE(server_->is_followed());
  EXPECT_EQ(server_->Receive()->id(), c);
  const auto told = server_->Receive();
  EXPECT_EQ(told->id(), c);
  EXPECT_TRUE(told->cancel());
  EXPECT_FALSE(server_->Receive());
}

TEST_F(ClientStreamTest, WhatWasToFollowIsGivenBackWhenTheStreamEnds) {
  Submit("a");
  const uint64_t b = Submit("b");
  const uint64_t c = Submit(kLong);
  server_->Receive();
  EXPECT_TRUE(server_->is_followed());
  server_->End(absl::UnavailableError("gone"));
  EXPECT_EQ(server_->reclaimed(), 0);
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(b)));
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(c)));
}

TEST_F(ClientStreamTest, NobodyIsToldBeforeTheMemoryIsFree) {
  const uint64_t cancelled = Submit(kLong);
  server_->Proceed(/*keeps=*/true);
  stream_->Cancel(cancelled);
  clock_.Advance(absl::Seconds(100));
  EXPECT_FALSE(IsDone(cancelled));
  server_->Release();
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsCancelled(StatusOf(cancelled)));
}

TEST_F(ClientStreamTest, ARequestWhoseTimeIsUpIsGivenUp) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b", absl::Seconds(3));
  const uint64_t c = Submit("c", absl::InfiniteDuration());
  while (server_->Receive()) continue;
  clock_.Advance(absl::Seconds(3) - absl::Nanoseconds(1));
  EXPECT_FALSE(IsDone(b));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(b)));
  EXPECT_TRUE(server_->Receive()->cancel());
  EXPECT_FALSE(IsDone(a));
  clock_.Advance(kTime);
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(a)));
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(IsDone(c));
  EXPECT_FALSE(server_->is_cancelled());
}

TEST_F(ClientStreamTest, TimersAreFewHoweverManyRequestsThereAre) {
  for (int i = 0; i < 100; ++i) {
    Submit("x");
    Submit("y", absl::Seconds(1));
    clock_.Advance(absl::Milliseconds(100));
  }
  EXPECT_LE(clock_.pending(), 12u);
}

TEST_F(ClientStreamTest, AStreamThatIsOverLeavesNoTimers) {
  const uint64_t a = Submit("a");
  Submit("b", absl::Seconds(1));
  Submit("c", absl::InfiniteDuration());
  EXPECT_EQ(clock_.pending(), 1u) << "for whichever is the first";
  auto finished =
      std::async(std::launch::async, [this] { return stream_->Finish(absl::Hours(1)); });
  server_->Receive();
  server_->Send(AnswerTo(a, "A"));
  server_->End(absl::UnavailableError("gone"));
  EXPECT_TRUE(absl::IsUnavailable(finished.get()));
  EXPECT_EQ(clock_.pending(), 0u);
}

TEST_F(ClientStreamTest, AConnectionThatTakesNothingIsGivenUp) {
  const uint64_t stuck = Submit(kLong);
  const uint64_t other = Submit("o", absl::InfiniteDuration());
  clock_.Advance(kTime);
  EXPECT_FALSE(IsDone(stuck));
  EXPECT_FALSE(server_->is_cancelled());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(server_->is_cancelled());
  server_->End(absl::CancelledError("by the client"));
  EXPECT_EQ(server_->reclaimed(), 1);
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(other)));
  EXPECT_FALSE(IsDone(stuck));
  server_->Release();
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(stuck)));
}

TEST_F(ClientStreamTest, AConnectionThatDoesNotTakeWhatIsCancelledIsGivenUp) {
  const uint64_t stuck = Submit(kLong);
  const uint64_t other = Submit("o", absl::InfiniteDuration());
  stream_->Cancel(stuck);
  clock_.Advance(kTime);
  EXPECT_FALSE(IsDone(stuck));
  EXPECT_FALSE(server_->is_cancelled());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(server_->is_cancelled());
  server_->End(absl::CancelledError("by the client"));
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(other)));
  server_->Release();
  clock_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsCancelled(StatusOf(stuck)));
}

TEST_F(ClientStreamTest, AConnectionThatTakesWhatIsCancelledGoesOn) {
  const uint64_t cancelled = Submit(kLong);
  server_->Proceed(/*keeps=*/true);
  stream_->Cancel(cancelled);
  clock_.Advance(kTime);
  server_->Release();
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsCancelled(StatusOf(cancelled)));
  EXPECT_FALSE(server_->is_cancelled());
}

TEST_F(ClientStreamTest, AConnectionThatDoesNotTakeWhatIsAnsweredIsGivenUp) {
  const uint64_t answered = Submit(kLong);
  server_->Proceed(/*keeps=*/true);
  server_->Send(ErrorFor(answered, RefusalAsBytes()));
  clock_.Advance(kTime);
  EXPECT_FALSE(server_->is_cancelled());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(server_->is_cancelled());
}

TEST_F(ClientStreamTest, ABrokenStreamFailsWhatIsOpenAndWhatComesLater) {
  const uint64_t a = Submit("a");
  server_->Receive();
  const uint64_t b = Submit(kLong);
  const uint64_t c = Submit("c");
  server_->End(absl::UnavailableError("gone"));
  const uint64_t later = Submit("later");
  for (const uint64_t id : {a, c, later}) EXPECT_EQ(StatusOf(id), absl::UnavailableError("gone"));
  EXPECT_FALSE(IsDone(b)) << "its memory is lent";
  server_->Release();
  clock_.Advance(absl::ZeroDuration());
  EXPECT_EQ(StatusOf(b), absl::UnavailableError("gone"));
  EXPECT_EQ(stream_->Finish(absl::InfiniteDuration()), absl::UnavailableError("gone"));
}

TEST_F(ClientStreamTest, AServerThatEndsTheStreamEarlyLeavesNobodyWaiting) {
  const uint64_t a = Submit("a");
  server_->Receive();
  server_->End(absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(a)));
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(Submit("later"))));
}

TEST_F(ClientStreamTest, FinishWaitsForAnswersAndThenEndsTheStream) {
  const uint64_t a = Submit("a");
  auto finished =
      std::async(std::launch::async, [this] { return stream_->Finish(absl::InfiniteDuration()); });
  server_->Receive();
  server_->Send(AnswerTo(a, "A"));
  server_->WaitForHalfClose();
  EXPECT_FALSE(server_->is_cancelled());
  server_->End(absl::OkStatus());
  EXPECT_EQ(finished.get(), absl::OkStatus());
  EXPECT_TRUE(StatusOf(a).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(StatusOf(Submit("later"))));
}

TEST_F(ClientStreamTest, FinishDoesNotWaitForAnswersThatNobodyWants) {
  const uint64_t a = Submit("a");
  server_->Receive();
  stream_->Cancel(a);
  auto finished =
      std::async(std::launch::async, [this] { return stream_->Finish(absl::InfiniteDuration()); });
  while (!server_->is_cancelled()) std::this_thread::yield();
  server_->End(absl::CancelledError("by the client"));
  EXPECT_EQ(finished.get(), absl::OkStatus());
}

TEST_F(ClientStreamTest, FinishGivesUpWhenItsTimeIsUp) {
  const uint64_t a = Submit("a", absl::InfiniteDuration());
  server_->Receive();
  auto finished =
      std::async(std::launch::async, [this] { return stream_->Finish(absl::ZeroDuration()); });
  while (!server_->is_cancelled()) clock_.Advance(absl::ZeroDuration());
  server_->End(absl::CancelledError("by the client"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(finished.get()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(a)));
}

TEST_F(ClientStreamTest, ACallbackMaySubmitTheNextRequest) {
  OperatorCall call;
  bool is_done = false;
  stream_->Submit(
      call,
      [&](const absl::StatusOr<Tensor>&, const ExecutionInfo&) {
        stream_->Submit(
            call, [&](const absl::StatusOr<Tensor>&, const ExecutionInfo&) { is_done = true; }, {});
      },
      {});
  server_->Receive();
  server_->Send(AnswerTo(1, "A"));
  EXPECT_EQ(server_->Receive()->id(), 2u);
  server_->Send(AnswerTo(2, "B"));
  EXPECT_TRUE(is_done);
}

TEST_F(ClientStreamTest, AResultWithoutMemoryFailsAlone) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  while (server_->Receive()) continue;
  v1::ExecuteStreamResponse huge = AnswerTo(a, "", 1);
  huge.set_payload_bytes(uint64_t{0xffffffff} * 0xffffffff);
  huge.mutable_response()->mutable_output()->set_sizes(0, 0xffffffff);
  huge.mutable_response()->mutable_output()->add_sizes(0xffffffff);
  server_->Send(huge);
  EXPECT_FALSE(server_->is_cancelled());
  server_->Send(AnswerTo(b, "B"));
  EXPECT_TRUE(StatusOf(b).ok());
}

struct Malformed {
  const char* name;
  std::string bytes;
};

class MalformedAnswerTest : public ClientStreamTest,
                            public ::testing::WithParamInterface<Malformed> {};

TEST_P(MalformedAnswerTest, EndsTheStreamWithDataLoss) {
  const uint64_t a = Submit("a");
  const uint64_t b = Submit("b");
  server_->Receive();
  server_->Send(AnswerTo(a, "12", 4));
  server_->Send(GetParam().bytes);
  EXPECT_TRUE(server_->is_cancelled());
  server_->Send(PieceFor(a, "34"));  // nothing is believed any more
  server_->End(absl::CancelledError("by the client"));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(a))) << StatusOf(a);
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(b))) << StatusOf(b);
  EXPECT_TRUE(absl::IsDataLoss(stream_->Finish(absl::InfiniteDuration())));
}

std::string Bytes(const v1::ExecuteStreamResponse& message) { return message.SerializeAsString(); }

v1::ExecuteStreamResponse WrongLength() {
  v1::ExecuteStreamResponse message = AnswerTo(2, "ab");
  message.set_payload_bytes(3);
  return message;
}

v1::ExecuteStreamResponse ErrorAndResponse() {
  v1::ExecuteStreamResponse message = AnswerTo(2, "ab");
  message.set_error(RefusalAsBytes());
  return message;
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedAnswerTest,
    ::testing::Values(Malformed{"NoMessage", "\xff"}, Malformed{"NoHeader", "\x12\x01\xff"},
                      Malformed{"UnknownId", Bytes(AnswerTo(3, "x"))},
                      Malformed{"PieceTooLong", Bytes(PieceFor(1, "345"))},
                      Malformed{"BeginsTwice", Bytes(AnswerTo(1, "12", 4))},
                      Malformed{"ErrorInTheMiddle", Bytes(ErrorFor(1, RefusalAsBytes()))},
                      Malformed{"ErrorThatIsNone", Bytes(ErrorFor(2, "\xff"))},
                      Malformed{"ErrorOfCodeOk", Bytes(ErrorFor(2, "\x12\x01x"))},
                      Malformed{"ErrorAndResponse", Bytes(ErrorAndResponse())},
                      Malformed{"NoResponse", Bytes(PieceFor(2, "x"))},
                      Malformed{"WrongLength", Bytes(WrongLength())}),
    [](const ::testing::TestParamInfo<Malformed>& answer) {
      return std::string(answer.param.name);
    });

TEST_F(ClientStreamTest, AnAnswerToWhatWasNotSentIsMalformed) {
  Submit("a");
  const uint64_t waiting = Submit("b");
  server_->Send(AnswerTo(waiting, "x"));
  EXPECT_TRUE(server_->is_cancelled());
  server_->End(absl::CancelledError("by the client"));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(waiting)));
}

}  // namespace
}  // namespace opserve::client_internal
