// What becomes of messages that may not come, as gRPC sees it.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "server/edge/frame_meter.h"
#include "server/edge/message_note.h"
#include "tests/testing/frame_bytes.h"
#include "tests/testing/message_reader.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;

constexpr uint8_t kPadded = 8;
constexpr size_t kLargest = 100'000;
constexpr size_t kMostOfClient = 250'000;
constexpr size_t kFrameBytes = 16384;

class RefusedMessagesTest : public ::testing::Test {
 protected:
  RefusedMessagesTest() { Take(std::string(kPreface) + FrameOf(kSettings, 0), 0); }

  // Frames, in pieces of so many bytes; 0: as a whole.
  void Take(const std::string& bytes, size_t piece_bytes) {
    if (piece_bytes == 0) piece_bytes = bytes.size();
    for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
      TakePiece(bytes.substr(at, piece_bytes));
    }
  }
  void TakePiece(std::string piece) {
    ASSERT_EQ(meter_.Take(absl::MakeSpan(piece), now_), CloseReason::kNone);
    size_t preface = std::min(preface_, piece.size());
    preface_ -= preface;
    grpc_.Take(absl::string_view(piece).substr(preface));
  }
  std::string Begin() {
    stream_ += 2;
    return FrameOf(kHeaders, stream_, "h");
  }
  // DATA of the latest call, in frames of at most so many bytes.
  std::string Data(const std::string& data, size_t frame_bytes = kFrameBytes) const {
    std::string frames;
    for (size_t at = 0; at < data.size(); at += frame_bytes) {
      frames += FrameOf(kData, stream_, data.substr(at, frame_bytes));
    }
    return frames;
  }
  // A new call with these data.
  std::string Call(const std::string& data, size_t frame_bytes = kFrameBytes) {
    const std::string headers = Begin();
    return headers + Data(data, frame_bytes);
  }
  const MessageReader::Stream& Seen() { return grpc_.streams[stream_]; }
  std::optional<MessageNote> Note() {
    if (Seen().messages.empty()) return std::nullopt;
    return DecodeMessageNote(Seen().messages.back());
  }
  uint64_t arriving() const {
    return client_->arriving_bytes.count() + client_->arriving_bytes.kept();
  }

  FrameLimits limits_ = {
      .messages = {.max_message_bytes = kLargest, .max_arriving_bytes = kMostOfClient}};
  std::shared_ptr<ClientTraffic> client_ = std::make_shared<ClientTraffic>();
  FrameMeter meter_{limits_, client_};
  MessageReader grpc_;
  Clock::TimePoint now_{seconds(1000)};
  size_t preface_ = sizeof(kPreface) - 1;
  uint32_t stream_ = 1;
};

TEST_F(RefusedMessagesTest, MessagesUpToTheLimitComeAsTheyWere) {
  for (const size_t piece_bytes : {0, 1, 7, 4096}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, kMessageNoteBytes, size_t{5000}, kLargest}) {
      Take(Call(MessageOf(bytes)), piece_bytes);
      ASSERT_EQ(Seen().messages.size(), 1u) << bytes << " in pieces of " << piece_bytes;
      EXPECT_EQ(Seen().messages.front(), std::string(bytes, 'x'));
    }
  }
  EXPECT_EQ(arriving(), 0u);
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

// However little may be under way, one message may.
TEST_F(RefusedMessagesTest, TheLargestMessageMayComeAlone) {
  FrameLimits limits = limits_;
  limits.messages.max_arriving_bytes = kLargest - 1;
  FrameMeter meter(limits, client_);
  std::string bytes = std::string(kPreface) + FrameOf(kSettings, 0) + Call(PrefixOf(kLargest));
  const std::string before = bytes;
  EXPECT_EQ(meter.Take(absl::MakeSpan(bytes), now_), CloseReason::kNone);
  EXPECT_EQ(bytes, before);
  EXPECT_EQ(arriving(), kLargest);
}

TEST_F(RefusedMessagesTest, ALargerOneIsANoteOfItsSize) {
  Take(Call(PrefixOf(kLargest + 1) + std::string(kMessageNoteBytes, 'x')), 0);
  ASSERT_TRUE(Note());
  EXPECT_EQ(Note()->bytes, kLargest + 1);
  EXPECT_EQ(Note()->limit, kLargest);
  EXPECT_EQ(Note()->others, 0u);
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

// The most that can be said, and a client that compresses.
TEST_F(RefusedMessagesTest, WhateverThePrefixSays) {
  for (const char flag : {0, 1, 2, -1}) {
    Take(Call(PrefixOf(0xffffffff, flag) + std::string(100, 'x')), 0);
    ASSERT_TRUE(Note()) << int{flag};
    EXPECT_EQ(Note()->bytes, 0xffffffff);
  }
}

// Wherever a read ends, also between the bytes of the prefix: gRPC hears of a note, or it gives the
// stream up at the next frame.
TEST_F(RefusedMessagesTest, WhereverReadsEnd) {
  for (const size_t bytes : {kLargest + 1, size_t{1} << 24, size_t{1} << 30}) {
    for (size_t cut = 1; cut < 9 + 1 + 9 + 5 + kMessageNoteBytes + 10; ++cut) {
      const std::string call = Call(PrefixOf(bytes) + std::string(3 * kFrameBytes, 'x'));
      Take(call.substr(0, cut), 0);
      Take(call.substr(cut), 0);
      EXPECT_TRUE(Seen().is_reset) << bytes << " cut at " << cut;
      // What gRPC had of the length is 0 up to where it is cut.
      const size_t had = cut < 20 || cut > 23 ? 0 : cut - 20;
      EXPECT_EQ(Note().has_value(), bytes >> (8 * (4 - had)) == 0) << bytes << " cut at " << cut;
    }
  }
  // Other calls have nothing of it.
  Take(Call(MessageOf(300)), 1);
  EXPECT_EQ(Seen().messages.size(), 1u);
}

// Neither is there a way around for whoever has each header read in pieces, too.
TEST_F(RefusedMessagesTest, WhereEachReadEnds) {
  std::string call = Call(PrefixOf(1 << 30) + std::string(3 * kFrameBytes, 'x'));
  const size_t second_frame = 10 + 9 + kFrameBytes;
  CloseReason reason = CloseReason::kNone;
  for (size_t at = 0; at < call.size() && reason == CloseReason::kNone; ++at) {
    reason = meter_.Take(absl::MakeSpan(call).subspan(at, 1), now_);
    ASSERT_TRUE(reason == CloseReason::kNone || at == second_frame + 8);
  }
  EXPECT_EQ(reason, CloseReason::kMessage);
}

TEST_F(RefusedMessagesTest, PrefixesMayLieAcrossFrames) {
  for (size_t frame_bytes = 1; frame_bytes < 5; ++frame_bytes) {
    Take(Call(PrefixOf(5000), frame_bytes), 0);
    Take(Data(std::string(5000, 'x')), 0);
    EXPECT_EQ(Seen().messages.size(), 1u);
    Take(Call(PrefixOf(1 << 30) + std::string(300, 'x'), frame_bytes), 0);
    EXPECT_TRUE(Seen().is_reset) << frame_bytes;
  }
}

TEST_F(RefusedMessagesTest, AnyOfSeveralMessagesMayBeTooLarge) {
  for (size_t before = 0; before < 4; ++before) {
    std::string data;
    for (size_t i = 0; i < before; ++i) data += MessageOf(1000 * i);
    // All in one frame.
    Take(Call(data + PrefixOf(kLargest + 1) + std::string(5000, 'x'), 1 << 20), 0);
    ASSERT_TRUE(Note()) << before;
    EXPECT_EQ(Seen().messages.size(), before + 1);
    EXPECT_EQ(Seen().messages.front().size(), before == 0 ? kMessageNoteBytes : 0);
  }
}

TEST_F(RefusedMessagesTest, WhatIsUnderWayCountsForTheClient) {
  Take(Call(PrefixOf(kLargest)), 0);
  EXPECT_EQ(arriving(), kLargest);
  const uint32_t first = stream_;
  Take(Call(PrefixOf(kLargest)), 0);
  Take(Call(PrefixOf(kLargest) + std::string(1000, 'x')), 0);
  ASSERT_TRUE(Note());
  EXPECT_EQ(Note()->bytes, kLargest);
  EXPECT_EQ(Note()->limit, kMostOfClient);
  EXPECT_EQ(Note()->others, 2 * kLargest);
  EXPECT_EQ(arriving(), 2 * kLargest);
  // Short ones come in any case.
  Take(Call(MessageOf(4096)), 1);
  EXPECT_EQ(Seen().messages.front().size(), 4096u);
  // Once it is complete there is room.
  for (size_t sent = 0; sent < kLargest; sent += 1000) {
    Take(FrameOf(kData, first, std::string(1000, 'x')), 0);
  }
  EXPECT_EQ(arriving(), kLargest);
  Take(Call(MessageOf(kLargest)), 0);
  EXPECT_EQ(Seen().messages.front().size(), kLargest);
}

// gRPC keeps for each byte of it all that it read at the same time.
TEST_F(RefusedMessagesTest, WhatIsKeptForAMessageInSmallFramesCounts) {
  Take(Call(PrefixOf(kLargest)), 0);
  const uint32_t slow = stream_;
  for (int i = 0; i < 10; ++i) {
    Take(FrameOf(kData, slow, "x"), 0);
    Take(Call(MessageOf(10'000)), 0);
  }
  EXPECT_GT(arriving(), kLargest + 80'000);
  EXPECT_LT(arriving(), kLargest + 101'000);
  // With its last byte nothing of it counts.
  Take(FrameOf(kData, slow, std::string(kLargest - 10, 'x')), 0);
  EXPECT_EQ(arriving(), 0u);
  EXPECT_EQ(grpc_.streams[slow].messages.size(), 1u);
}

TEST_F(RefusedMessagesTest, AMessageForWhichTooMuchIsKeptIsGivenUp) {
  for (const size_t bytes : {size_t{10}, kLargest}) {
    Take(Call(PrefixOf(bytes)), 0);
    const uint32_t slow = stream_;
    for (int i = 0; i < 9 && !grpc_.streams[slow].is_reset; ++i) {
      Take(FrameOf(kData, slow, "x"), 0);
      for (int call = 0; call < 10; ++call) Take(Call(MessageOf(10'000)), 0);
    }
    EXPECT_TRUE(grpc_.streams[slow].is_reset) << bytes;
    EXPECT_LE(client_->arriving_bytes.kept(), kMostOfClient);
    Take(FrameOf(kReset, slow, "code"), 0);
    EXPECT_EQ(arriving(), 0u);
  }
}

// Messages that were let in come, however many they are.
TEST_F(RefusedMessagesTest, WhatIsKeptTakesNoRoomFromMessages) {
  for (int i = 0; i < 2; ++i) Take(Call(PrefixOf(kLargest)), 0);
  Take(Call(PrefixOf(kMostOfClient - 2 * kLargest)), 0);
  const uint32_t slow = stream_;
  for (int i = 0; i < 5; ++i) {
    Take(FrameOf(kData, slow, "x"), 0);
    Take(Call(MessageOf(4096)), 0);
    Take(Call(MessageOf(4096)), 0);
  }
  EXPECT_GT(client_->arriving_bytes.kept(), 20'000u);
  EXPECT_EQ(client_->arriving_bytes.count(), kMostOfClient);
  EXPECT_FALSE(grpc_.streams[slow].is_reset);
}

// What others send in between is kept for their messages as well, if for any.
TEST_F(RefusedMessagesTest, MessagesInLargeFramesCountAsTheyAre) {
  Take(Call(PrefixOf(kLargest)), 0);
  const uint32_t first = stream_;
  Take(Call(PrefixOf(kLargest)), 0);
  for (int i = 0; i < 6; ++i) {
    for (const uint32_t stream : {first, stream_}) {
      Take(FrameOf(kData, stream, std::string(kFrameBytes, 'x')), 1000);
    }
    EXPECT_EQ(arriving(), 2 * kLargest);
  }
}

TEST_F(RefusedMessagesTest, AllConnectionsOfTheClientCountTogether) {
  FrameMeter other(limits_, client_);
  std::string bytes = kPreface;
  for (const uint32_t stream : {1, 3}) {
    bytes += FrameOf(kHeaders, stream, "h") + FrameOf(kData, stream, PrefixOf(kLargest));
  }
  other.Take(absl::MakeSpan(bytes), now_);
  Take(Call(MessageOf(kLargest)), 0);
  EXPECT_TRUE(Note());
  other.Stop();
  EXPECT_EQ(arriving(), 0u);
  Take(Call(MessageOf(kLargest)), 0);
  EXPECT_FALSE(Note());
}

// However a call ends.
TEST_F(RefusedMessagesTest, WhatWillNotComeDoesNotCount) {
  const auto begin = [this] {
    Take(Call(MessageOf(10) + PrefixOf(kLargest)), 0);
    EXPECT_EQ(arriving(), kLargest);
  };
  begin();
  Take(FrameOf(kReset, stream_, "code"), 0);
  EXPECT_EQ(arriving(), 0u);
  begin();
  Take(FrameOf(kData, stream_, "x", kEndStream), 0);
  EXPECT_EQ(arriving(), 0u);
  begin();
  Take(FrameOf(kHeaders, stream_, "h", kEndStream), 0);
  EXPECT_EQ(arriving(), 0u);
  begin();
  const std::string reset = FrameOf(kReset, stream_, "code");
  absl::string_view left = reset;
  meter_.TakeSent([&left] { return std::exchange(left, {}); }, now_);
  EXPECT_EQ(arriving(), 0u);
}

// Headers behind headers that do not end the call.
TEST_F(RefusedMessagesTest, CallsHaveHeadersOnce) {
  std::string frames = Begin();
  frames += FrameOf(kHeaders, stream_, "h");
  EXPECT_EQ(meter_.Take(absl::MakeSpan(frames), now_), CloseReason::kFrames);
}

// One that waited for too long and was forgiven is looked at all the same.
TEST_F(RefusedMessagesTest, SilenceIsNoWayAround) {
  Take(Begin(), 0);
  now_ += limits_.message_limit + seconds(1);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
  EXPECT_EQ(client_->waiting_calls.count(), 0);
  Take(Data(PrefixOf(1 << 30) + std::string(100, 'x')), 0);
  EXPECT_TRUE(Note());
  EXPECT_EQ(client_->waiting_calls.count(), 0);
}

// Nor does it keep others of the client away for ever.
TEST_F(RefusedMessagesTest, WhatHasBegunMustGoOn) {
  Take(Call(PrefixOf(kLargest) + "x"), 0);
  now_ += limits_.message_limit;
  Take(Data("x"), 0);
  now_ += limits_.message_limit - seconds(1);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
  now_ += seconds(1);
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kSilentCalls);
}

// A later message may have to wait for the server, so its connection stays; but it keeps nobody
// away.
TEST_F(RefusedMessagesTest, LaterMessagesThatPauseCountWithWhatIsThere) {
  Take(Call(MessageOf(10)), 0);
  Take(Data(PrefixOf(kLargest) + std::string(100, 'x')), 0);
  EXPECT_EQ(arriving(), kLargest);
  for (int i = 0; i < 3; ++i) {
    now_ += limits_.message_limit;
    EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
    EXPECT_EQ(arriving(), 100u);
  }
  Take(Data("x"), 0);
  EXPECT_EQ(arriving(), kLargest);
  Take(Data(std::string(kLargest - 101, 'x')), 0);
  EXPECT_EQ(Seen().messages.size(), 2u);
  EXPECT_FALSE(Seen().is_reset);
  EXPECT_EQ(arriving(), 0u);
}

TEST_F(RefusedMessagesTest, MessagesThatPausedForTooLongFindNoRoom) {
  Take(Call(MessageOf(10)), 0);
  const uint32_t paused = stream_;
  Take(Data(PrefixOf(kLargest) + std::string(100, 'x')), 0);
  now_ += limits_.message_limit;
  EXPECT_EQ(meter_.OnTick(now_), CloseReason::kNone);
  for (int i = 0; i < 2; ++i) Take(Call(PrefixOf(kLargest) + "x"), 0);
  Take(FrameOf(kData, paused, "x"), 0);
  EXPECT_EQ(arriving(), 2 * kLargest + 100);
  Take(FrameOf(kData, paused, "x"), 0);
  EXPECT_TRUE(grpc_.streams[paused].is_reset);
  // The server's answer to that.
  const std::string reset = FrameOf(kReset, paused, "code");
  absl::string_view left = reset;
  meter_.TakeSent([&left] { return std::exchange(left, {}); }, now_);
  EXPECT_EQ(arriving(), 2 * kLargest);
}

// gRPC takes no padding, so what has some is no message of the call, nor a part of one.
TEST_F(RefusedMessagesTest, PaddedDataAreNoMessage) {
  Take(Begin(), 0);
  Take(FrameOf(kData, stream_, MessageOf(100), kPadded), 0);
  EXPECT_EQ(client_->waiting_calls.count(), 1);
  EXPECT_TRUE(Seen().is_reset);
  EXPECT_TRUE(Seen().messages.empty());
}

// Whatever calls send in whatever pieces, nobody has gRPC wait for more than the limits.
TEST_F(RefusedMessagesTest, NothingMakesGrpcWaitForMore) {
  std::mt19937 random(7);
  const auto pick = [&random](size_t most) { return random() % (most + 1); };
  std::vector<uint32_t> open;
  std::map<uint32_t, std::string> left;
  for (int i = 0; i < 20000; ++i) {
    if (open.size() < 4) {
      Take(Begin(), 0);
      open.push_back(stream_);
      std::string& data = left[stream_];
      for (size_t message = 0; message < 3; ++message) {
        const size_t bytes = pick(9) == 0 ? random() : pick(kLargest + 3000);
        data += PrefixOf(bytes, static_cast<char>(pick(1))) +
                std::string(std::min<size_t>(bytes, kLargest + 3000), 'x');
      }
    }
    const size_t which = pick(open.size() - 1);
    std::string& data = left[open[which]];
    const size_t count = std::min(data.size(), pick(3) == 0 ? pick(8) : pick(kFrameBytes));
    const bool is_end = data.size() == count || pick(200) == 0;
    const std::string frame =
        FrameOf(kData, open[which], data.substr(0, count), is_end ? kEndStream : 0);
    // The header in one piece: else the connection would end once a stream is to be reset.
    const size_t first = std::min(frame.size(), 9 + pick(300));
    TakePiece(frame.substr(0, first));
    Take(frame.substr(first), pick(1) == 0 ? 0 : 1 + pick(3000));
    data.erase(0, count);
    uint64_t waited_for = 0;
    for (const uint32_t stream : open) {
      const MessageReader::Stream& seen = grpc_.streams[stream];
      if (seen.is_reset) continue;
      // Of a prefix that lies across reads or frames it may have had too much, until the next
      // frame.
      if (seen.left.size() < 5 + kFrameBytes || seen.announced <= 4096) continue;
      ASSERT_LE(seen.announced, kLargest);
      waited_for += seen.announced;
    }
    ASSERT_LE(waited_for, kMostOfClient);
    if (is_end) {
      left.erase(open[which]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

}  // namespace
}  // namespace opserve::testing
