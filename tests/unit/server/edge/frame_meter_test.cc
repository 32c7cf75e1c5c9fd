// What a connection may send, frame by frame.

#include "server/edge/frame_meter.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "server/base/token_bucket.h"
#include "tests/testing/frame_bytes.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What the meter says to bytes that are nobody else's.
CloseReason TakeBy(FrameMeter& meter, std::string bytes, Clock::TimePoint now) {
  return meter.Take(absl::MakeSpan(bytes), now);
}

class FrameMeterTest : public ::testing::Test {
 protected:
  FrameMeterTest() { Take(std::string(kPreface) + FrameOf(kSettings, 0)); }

  CloseReason Take(const std::string& bytes) { return TakeBy(meter_, bytes, now_); }
  std::string Call(size_t bytes) {
    stream_ += 2;
    return FrameOf(kHeaders, stream_, "h") + FrameOf(kData, stream_, MessageOf(bytes), kEndStream);
  }
  std::string HalfCall() {
    stream_ += 2;
    return FrameOf(kHeaders, stream_, "h");
  }
  // With another frame of the call behind it.
  std::string HalfCallAnd(FrameType type, const std::string& payload, uint8_t flags = 0) {
    std::string frames = HalfCall();
    return frames + FrameOf(type, stream_, payload, flags);
  }
  // The server ends a call with an answer before its message is there. It sends pieces of so many
  // bytes.
  void End(uint32_t stream, size_t piece_bytes = 1) {
    const std::string frames =
        FrameOf(kHeaders, stream, "status") + FrameOf(kReset, stream, "code");
    absl::string_view left = frames;
    const auto next_piece = [&] {
      const absl::string_view piece = left.substr(0, piece_bytes);
      left.remove_prefix(piece.size());
      return piece;
    };
    meter_.TakeSent(next_piece, now_);
  }
  // How many times `bytes` is taken at once, up to `most`.
  template <class Make>
  int Count(int most, Make make) {
    int count = 0;
    while (count < most && Take(make()) == CloseReason::kNone) ++count;
    return count;
  }

  FrameLimits limits_ = {.max_header_block_bytes = 1000,
                         .burst = 1000,
                         .per_second = 100,
                         .lost_call_burst = 80,
                         .lost_calls_per_second = 100,
                         .ping_burst = 50,
                         .pings_per_second = 20,
                         .key_update_burst = 30,
                         .key_updates_per_second = 10,
                         .max_waiting_calls = 50,
                         .message_limit = seconds(10),
                         .forgiven_calls = 4};
  std::shared_ptr<ClientTraffic> client_ = std::make_shared<ClientTraffic>();
  FrameMeter meter_{limits_, client_};
  Clock::TimePoint now_{seconds(1000)};
  uint32_t stream_ = 1;
};

TEST_F(FrameMeterTest, BeginsWithTheFirstFrame) {
  FrameMeter meter(limits_, client_);
  EXPECT_EQ(TakeBy(meter, kPreface, now_), CloseReason::kNone);
  EXPECT_FALSE(meter.has_begun());
  EXPECT_EQ(TakeBy(meter, FrameOf(kSettings, 0), now_), CloseReason::kNone);
  EXPECT_TRUE(meter.has_begun());
}

// Such as the first bytes of TLS, which are followed by random ones that look like too large a
// block of headers now and then. gRPC ends such a connection; nobody misbehaved.
TEST_F(FrameMeterTest, WhatIsNotHttp2HasNoFrames) {
  const std::string tls = "\x16\x03\x01\x02 and 20 bytes of TLS";
  ASSERT_EQ(tls.size(), std::string(kPreface).size());
  const std::string large =
      FrameOf(kHeaders, 1, std::string(limits_.max_header_block_bytes + 1, 'h'));
  for (const size_t right : {size_t{0}, size_t{1}, tls.size() - 1}) {
    FrameMeter meter(limits_, client_);
    const std::string begin = std::string(kPreface).substr(0, right) + tls.substr(right);
    EXPECT_EQ(TakeBy(meter, begin.substr(0, right), now_), CloseReason::kNone);
    EXPECT_EQ(TakeBy(meter, begin.substr(right) + large, now_), CloseReason::kNone) << right;
    EXPECT_EQ(TakeBy(meter, large, now_), CloseReason::kNone) << right;
    EXPECT_FALSE(meter.has_begun()) << "so it has no more time than for a handshake";
  }
  FrameMeter meter(limits_, client_);
  EXPECT_EQ(TakeBy(meter, kPreface + large, now_), CloseReason::kHeaders);
}

TEST_F(FrameMeterTest, CallsMayComeWithoutEnd) {
  EXPECT_EQ(Count(100000, [this] { return Call(3); }), 100000);
  EXPECT_EQ(Take(Call(10 << 20)), CloseReason::kNone);
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

// As gRPC for Go does.
TEST_F(FrameMeterTest, EachCallMayBringAPingAndMakeRoom) {
  EXPECT_EQ(Count(100000,
                  [this] {
                    return Call(3) + FrameOf(kWindow, 0, "size") + FrameOf(kPing, 0, "12345678");
                  }),
            100000);
}

TEST_F(FrameMeterTest, PingsWithoutCallsAreTooMuch) {
  const auto ping = [] { return FrameOf(kPing, 0, "12345678"); };
  FrameMeter patient(limits_, client_);
  TakeBy(patient, kPreface, now_);
  EXPECT_EQ(Count(1000, ping), 50);
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(TakeBy(patient, ping(), now_), CloseReason::kNone);
    now_ += seconds(1);
  }
}

TEST_F(FrameMeterTest, KeysMayNotChangeAgainAndAgain) {
  for (int i = 0; i < 30; ++i) EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kNone);
  // What is for frames is there yet.
  EXPECT_EQ(Count(10, [] { return FrameOf(kPing, 0, "12345678"); }), 10);
  EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kFrames);
  // For ever.
  now_ += seconds(100);
  EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kFrames);
  EXPECT_EQ(Take(Call(3)), CloseReason::kFrames);
}

TEST_F(FrameMeterTest, KeysMayChangeNowAndThen) {
  for (int i = 0; i < 10000; ++i) {
    now_ += milliseconds(100);
    EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kNone);
  }
}

// Its client may have sent them all before it knew.
TEST_F(FrameMeterTest, KeysOfAConnectionThatHasEndedMayNotChangeAgainAndAgain) {
  meter_.Stop();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kNone);
  EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kFrames);
}

TEST_F(FrameMeterTest, BytesMayComeInAnyPieces) {
  for (size_t piece_bytes = 1; piece_bytes <= 20; ++piece_bytes) {
    std::string bytes = Call(300);
    bytes += HalfCall();
    bytes += FrameOf(kPing, 0, "12345678");
    bytes += Call(0);
    for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
      EXPECT_EQ(Take(bytes.substr(at, piece_bytes)), CloseReason::kNone);
    }
    EXPECT_EQ(client_->waiting_calls.count(), piece_bytes);
  }
}

// From the headers to the last byte of the first message, and no more of the call.
TEST_F(FrameMeterTest, TellsHowLongMessagesTake) {
  const auto times = std::make_shared<DurationHistogram>();
  FrameMeter meter(limits_, client_, times);
  const auto take = [&](const std::string& bytes) {
    EXPECT_EQ(TakeBy(meter, bytes, now_), CloseReason::kNone);
  };
  take(kPreface + Call(3));
  EXPECT_EQ(times->counts.front(), 1u);
  EXPECT_EQ(times->sum_ns, 0u);
  const std::string message = MessageOf(3000);
  take(HalfCall());
  now_ += milliseconds(20);
  take(FrameOf(kData, stream_, message.substr(0, 2000)));
  now_ += milliseconds(10);
  EXPECT_EQ(times->sum_ns, 0u);
  take(FrameOf(kData, stream_, message.substr(2000)));
  now_ += seconds(5);
  take(FrameOf(kData, stream_, MessageOf(10), kEndStream));
  EXPECT_EQ(times->sum_ns, 30'000'000u);
  // One that never ends is none.
  take(HalfCall());
  now_ += milliseconds(20);
  take(FrameOf(kReset, stream_, "code"));
  EXPECT_EQ(times->sum_ns, 30'000'000u);
}

TEST_F(FrameMeterTest, RapidResetsAreTooMuch) {
  EXPECT_EQ(Count(1000, [this] { return HalfCallAnd(kReset, "code"); }), 80);
  // For ever.
  now_ += seconds(100);
  EXPECT_EQ(Take(Call(3)), CloseReason::kFrames);
}

// A program that gives all its calls up, or whose deadline has passed.
TEST_F(FrameMeterTest, ManyCallsThatWereUnderWayMayBeTakenBack) {
  for (int round = 0; round < 10; ++round) {
    std::vector<uint32_t> streams;
    for (int i = 0; i < 900; ++i) {
      EXPECT_EQ(Take(Call(3)), CloseReason::kNone);
      streams.push_back(stream_);
      if (i % 100 == 0) now_ += milliseconds(1);
    }
    now_ += milliseconds(20);
    for (const uint32_t stream : streams) {
      ASSERT_EQ(Take(FrameOf(kReset, stream, "code")), CloseReason::kNone);
    }
  }
}

// Whatever else goes on.
TEST_F(FrameMeterTest, CallsAreOldAfterTwentyMilliseconds) {
  std::deque<uint32_t> streams;
  for (int i = 0; i < 1000; ++i) {
    now_ += milliseconds(1);
    ASSERT_EQ(Take(Call(3)), CloseReason::kNone);
    streams.push_back(stream_);
    if (i < 20) continue;
    ASSERT_EQ(Take(FrameOf(kReset, streams.front(), "code")), CloseReason::kNone);
    streams.pop_front();
  }
  // All the burst is there yet.
  EXPECT_EQ(Count(1000, [this] { return HalfCallAnd(kReset, "code"); }), 80);
}

TEST_F(FrameMeterTest, ResetsBehindMessagesAreTooMuch) {
  EXPECT_EQ(Count(1000,
                  [this] {
                    std::string call = Call(0);
                    return call + FrameOf(kReset, stream_, "code");
                  }),
            80);
}

TEST_F(FrameMeterTest, CallsThatEndBeforeTheirMessageAreTooMuch) {
  EXPECT_EQ(Count(1000, [this] { return HalfCallAnd(kData, "", kEndStream); }), 80);
}

TEST_F(FrameMeterTest, CallsWithNothingButHeadersAreTooMuch) {
  EXPECT_EQ(Count(1000,
                  [this] {
                    stream_ += 2;
                    return FrameOf(kHeaders, stream_, "h", kEndStream);
                  }),
            80);
}

TEST_F(FrameMeterTest, FramesThatBringNothingAreTooMuch) {
  FrameMeter settings(limits_, client_);
  FrameMeter empty(limits_, client_);
  TakeBy(settings, kPreface, now_);
  TakeBy(empty, kPreface, now_);
  CloseReason reason = CloseReason::kNone;
  for (int i = 0; i < 201; ++i) reason = TakeBy(settings, FrameOf(kSettings, 0), now_);
  EXPECT_EQ(reason, CloseReason::kFrames);
  for (int i = 0; i < 1001; ++i) reason = TakeBy(empty, FrameOf(kData, 1), now_);
  EXPECT_EQ(reason, CloseReason::kFrames);
}

TEST_F(FrameMeterTest, FewerPerSecondAreNot) {
  for (int i = 0; i < 10000; ++i) {
    now_ += milliseconds(50);
    EXPECT_EQ(Take(FrameOf(kPing, 0, "12345678")), CloseReason::kNone);
  }
}

TEST_F(FrameMeterTest, HeadersEnd) {
  EXPECT_EQ(Take(FrameOf(kHeaders, 3, std::string(500, 'h'))), CloseReason::kNone);
  EXPECT_EQ(Take(FrameOf(kMore, 3, std::string(500, 'h'))), CloseReason::kNone);
  // Known from the length alone.
  EXPECT_EQ(Take(FrameOf(kMore, 3, "h").substr(0, 9)), CloseReason::kHeaders);
}

TEST_F(FrameMeterTest, TheFirstReasonStays) {
  EXPECT_EQ(Take(FrameOf(kHeaders, 3, std::string(1001, 'h'))), CloseReason::kHeaders);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(meter_.TakeKeyUpdate(now_), CloseReason::kHeaders);
}

TEST_F(FrameMeterTest, CallsOfAClientThatWaitAreLimitedOverAllItsConnections) {
  FrameMeter other(limits_, client_);
  TakeBy(other, kPreface, now_);
  for (uint32_t i = 0; i < 30; ++i) TakeBy(other, FrameOf(kHeaders, 2 * i + 1, "h"), now_);
  EXPECT_EQ(Count(100, [this] { return HalfCall(); }), 20);
  EXPECT_EQ(Take(""), CloseReason::kWaitingCalls);
  meter_.Stop();
  EXPECT_EQ(client_->waiting_calls.count(), 30);
}

TEST_F(FrameMeterTest, OnceTooManyWaitThereAreNoNewOnesForASecond) {
  Count(100, [this] { return HalfCall(); });
  meter_.Stop();
  FrameMeter second(limits_, client_);
  TakeBy(second, kPreface, now_);
  now_ += milliseconds(999);
  EXPECT_EQ(TakeBy(second, FrameOf(kHeaders, 1, "h"), now_), CloseReason::kWaitingCalls);
  second.Stop();
  // That was none of too many.
  FrameMeter third(limits_, client_);
  TakeBy(third, kPreface, now_);
  now_ += milliseconds(1);
  EXPECT_EQ(TakeBy(third, FrameOf(kHeaders, 1, "h"), now_), CloseReason::kNone);
  EXPECT_EQ(client_->waiting_calls.count(), 1);
}

TEST_F(FrameMeterTest, ACallWaitsUntilItsMessageIsWhole) {
  Take(HalfCallAnd(kData, MessageOf(20).substr(0, 24)));
  EXPECT_EQ(client_->waiting_calls.count(), 1);
  Take(FrameOf(kData, stream_, "x"));
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

TEST_F(FrameMeterTest, CallsThatSendNothingAreForgivenToAPoint) {
  for (int i = 0; i < 4; ++i) Take(HalfCall());
  now_ += seconds(11);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
  EXPECT_EQ(client_->waiting_calls.count(), 0);
  for (int i = 0; i < 4; ++i) Take(HalfCall());
  now_ += seconds(11);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kSilentCalls);
}

TEST_F(FrameMeterTest, CallsThatTheServerEndsWaitNoMore) {
  for (int i = 0; i < 10; ++i) Take(HalfCallAnd(kData, MessageOf(100).substr(0, 50)));
  for (uint32_t call = 0; call < 9; ++call) End(3 + 2 * call, 1 + 4 * call);
  EXPECT_EQ(client_->waiting_calls.count(), 1);
  // What its client still sent, not knowing, changes nothing.
  Take(FrameOf(kData, 3, std::string(55, 'x'), kEndStream));
  EXPECT_EQ(client_->waiting_calls.count(), 1);
  now_ += seconds(11);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
  for (int i = 0; i < 3; ++i) Take(HalfCall());
  now_ += seconds(11);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone) << "only calls that were silent count";
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

TEST_F(FrameMeterTest, CallsThatTheServerEndsCostAFrame) {
  EXPECT_EQ(Count(2000,
                  [this] {
                    if (stream_ > 1) End(stream_);
                    return HalfCall();
                  }),
            996);
}

TEST_F(FrameMeterTest, ClientsMayTakeBackWhatTheServerHasEnded) {
  for (int i = 0; i < 200; ++i) {
    Take(HalfCall());
    End(stream_);
    EXPECT_EQ(Take(FrameOf(kReset, stream_, "code")), CloseReason::kNone);
  }
  EXPECT_EQ(Count(200, [this] { return HalfCallAnd(kReset, "code"); }), 80);
}

TEST_F(FrameMeterTest, SlowMessagesAreNotSilent) {
  for (int i = 0; i < 40; ++i) Take(HalfCallAnd(kData, MessageOf(100).substr(0, 5)));
  for (int i = 0; i < 90; ++i) {
    now_ += seconds(1);
    for (uint32_t call = 0; call < 40; ++call) Take(FrameOf(kData, 3 + 2 * call, "x"));
    EXPECT_EQ(Take(""), CloseReason::kNone);
  }
  EXPECT_EQ(client_->waiting_calls.count(), 40);
}

TEST(TokenBucketTest, HoldsABurstAndARate) {
  TokenBucket bucket(3, 2);
  Clock::TimePoint now{seconds(1)};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.Take(1, now));
  EXPECT_FALSE(bucket.Take(1, now));
  now += milliseconds(500);
  EXPECT_TRUE(bucket.has_any(now));
  EXPECT_TRUE(bucket.Take(1, now));
  EXPECT_FALSE(bucket.has_any(now));
  now += seconds(100);
  EXPECT_TRUE(bucket.Take(3, now));
  EXPECT_FALSE(bucket.Take(1, now));
  bucket.Give(2);
  EXPECT_TRUE(bucket.Take(2, now));
}

}  // namespace
}  // namespace opserve::testing
