#include "server/edge/frame_meter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace opserve {
namespace {

// The first bytes of a client, which the version that gRPC speaks prescribes.
constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 9113, section 6.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kRstStream = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kPing = 6;
constexpr uint8_t kWindowUpdate = 8;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kAck = 1;
// gRPC resets a stream whose DATA has this flag, or any but that of the end.
constexpr uint8_t kPadded = 8;
// The flags in a frame's header, from its end.
constexpr size_t kFlagsFromEnd = 5;

// Data in frames below this size costs gRPC more for the frames than for the bytes.
constexpr uint32_t kSmallDataBytes = 1024;

// Until a message is complete, gRPC keeps for each piece of it a slice, and with that all that it
// read together: up to so many bytes, whatever else is among them. Data in frames below
// kKeptDataBytes may be far less than what is kept for them.
constexpr uint64_t kSliceBytes = 64;
constexpr uint64_t kReadBytes = 64 << 10;
constexpr uint32_t kKeptDataBytes = 4096;

// A call that is taken back later than this after it began is like any other: no more of them can
// be under way than gRPC allows.
constexpr std::chrono::milliseconds kShortLife{10};

// What frames cost, in tokens. Calls that are lost, and pings, are counted by themselves: gRPC
// takes 12 us for one of many pings, and up to 7 KB where the client does not read the answers.
constexpr double kSettingsCost = 5;
constexpr double kOtherCost = 1;
constexpr double kWindowUpdateCost = 0.1;
// What a message brings back: clients acknowledge answers and end calls with frames of their own.
constexpr double kMessageGain = 2;

// How long a call that the server ended is known: until then its client has heard of it, and has
// ended it on its side, if it does so at all.
constexpr std::chrono::seconds kEndedMemory{2};

// How often silent calls are looked for, and every how many seconds one more is forgiven.
constexpr std::chrono::seconds kLookInterval{1};
constexpr double kForgivenPerSecond = 0.1;

}  // namespace

FrameMeter::FrameMeter(const FrameLimits& limits, std::shared_ptr<ClientTraffic> client,
                       std::shared_ptr<DurationHistogram> receive_times)
    : limits_(limits),
      client_(std::move(client)),
      receive_times_(std::move(receive_times)),
      frames_(limits.burst, limits.per_second),
      lost_calls_(limits.lost_call_burst, limits.lost_calls_per_second),
      pings_(limits.ping_burst, limits.pings_per_second),
      key_updates_(limits.key_update_burst, limits.key_updates_per_second),
      forgiven_(limits.forgiven_calls, kForgivenPerSecond) {}

CloseReason FrameMeter::Take(absl::Span<char> bytes, Clock::TimePoint now) {
  MutexLock lock(mutex_);
  if (is_stopped_) return CloseReason::kNone;
  TakeFrames(bytes, now);
  LookForSilentCalls(now);
  return reason_;
}

CloseReason FrameMeter::TakeKeyUpdate(Clock::TimePoint now) {
  MutexLock lock(mutex_);
  Charge(key_updates_, 1, now);
  return reason_;
}

void FrameMeter::Stop() {
  MutexLock lock(mutex_);
  is_stopped_ = true;
  for (auto& [stream, call] : calls_) Leave(call);
  calls_.clear();
}

void FrameMeter::TakeSent(absl::FunctionRef<absl::string_view()> next_piece, Clock::TimePoint now) {
  // An answer has several pieces, which are looked at together.
  MutexLock lock(mutex_);
  if (is_stopped_) return;
  for (absl::string_view bytes = next_piece(); !bytes.empty(); bytes = next_piece()) {
    while (!bytes.empty()) {
      sent_.TakePayload(bytes);
      const std::optional<FrameHeader> frame = sent_.TakeHeader(bytes);
      // gRPC sends one behind its answer where the client has not sent all.
      if (frame && frame->type == kRstStream) OnServerEnd(frame->stream, now);
    }
  }
}

void FrameMeter::TakeFrames(absl::Span<char> bytes, Clock::TimePoint now) {
  absl::string_view left(bytes.data(), bytes.size());
  const absl::string_view preface = left.substr(0, kPreface.size() - preface_bytes_);
  if (!absl::StartsWith(kPreface.substr(preface_bytes_), preface)) {
    // gRPC itself ends connections that begin with anything else, such as TLS: there are no frames,
    // and nobody is to be blamed for what bytes look like.
    is_stopped_ = true;
    return;
  }
  preface_bytes_ += preface.size();
  left.remove_prefix(preface.size());
  while (!left.empty() && reason_ == CloseReason::kNone) {
    bytes = bytes.last(left.size());
    if (received_.missing_bytes() > 0) {
      const size_t count = received_.TakePayload(left).size();
      OnPayload(bytes.first(count), now);
      position_ += count;
    } else {
      const std::optional<FrameHeader> frame = received_.TakeHeader(left);
      const size_t count = bytes.size() - left.size();
      position_ += count;
      if (!frame) return;
      frame_ = *frame;
      OnFrameHeader(bytes.first(count), now);
    }
    if (received_.missing_bytes() == 0) OnFrameEnd(now);
  }
}

void FrameMeter::OnFrameHeader(absl::Span<char> header, Clock::TimePoint now) {
  has_begun_.store(true, std::memory_order_relaxed);
  switch (frame_.type) {
    case kHeaders:
      OnHeaders(now);
      break;
    case kContinuation:
      OnHeaderBytes();
      Charge(frames_, kOtherCost, now);
      break;
    case kData:
      if (frame_.length < kSmallDataBytes) {
        Charge(frames_, frame_.length < kMessagePrefixBytes ? kOtherCost : kWindowUpdateCost, now);
      }
      if (resets_due_ > 0) ResetStream(header);
      break;
    case kRstStream:
      OnClientEnd(frame_.stream, now);
      break;
    case kSettings:
      Charge(frames_, (frame_.flags & kAck) != 0 ? kOtherCost : kSettingsCost, now);
      break;
    case kPing:
      if ((frame_.flags & kAck) != 0) {
        // An answer to one of the server's, which are few.
        Charge(frames_, kWindowUpdateCost, now);
      } else {
        Charge(pings_, 1, now);
      }
      break;
    case kWindowUpdate:
      Charge(frames_, kWindowUpdateCost, now);
      break;
    default:
      Charge(frames_, kOtherCost, now);
  }
}

void FrameMeter::OnHeaders(Clock::TimePoint now) {
  block_bytes_ = 0;
  OnHeaderBytes();
  LookForOldStreams(now);
  if (frame_.stream <= last_stream_ || (frame_.flags & kEndStream) != 0) {
    // No client of gRPC sends headers at the end, nor a call without a message.
    last_stream_ = std::max(last_stream_, frame_.stream);
    last_begun_ = now;
    if ((frame_.flags & kEndStream) != 0) return OnClientEnd(frame_.stream, now);
    // After such headers gRPC would take no others for the end, which were to end the call here.
    if (calls_.contains(frame_.stream)) return Violate(CloseReason::kFrames);
    return OnLostCall(frame_.stream, now);
  }
  last_stream_ = frame_.stream;
  last_begun_ = now;
  calls_.try_emplace(frame_.stream, Call{.begun = now, .last_data = now, .data_end = position_});
  if (!client_->waiting_calls.Begin(limits_.max_waiting_calls, now)) {
    Violate(CloseReason::kWaitingCalls);
  }
}

void FrameMeter::OnHeaderBytes() {
  block_bytes_ += frame_.length;
  if (block_bytes_ > limits_.max_header_block_bytes) Violate(CloseReason::kHeaders);
}

void FrameMeter::ResetStream(absl::Span<char> header) {
  const auto found = calls_.find(frame_.stream);
  if (found == calls_.end() || !found->second.messages.needs_reset()) return;
  // Whoever has its headers read in pieces must not get on.
  if (header.size() < kFlagsFromEnd) return Violate(CloseReason::kMessage);
  header[header.size() - kFlagsFromEnd] |= static_cast<char>(kPadded);
  frame_.flags |= kPadded;
}

void FrameMeter::OnPayload(absl::Span<char> piece, Clock::TimePoint now) {
  if (frame_.type != kData || (frame_.flags & ~kEndStream) != 0) return;
  const auto found = calls_.find(frame_.stream);
  if (found == calls_.end() || found->second.ended) return;
  Call& call = found->second;
  const bool was_waiting = call.is_waiting();
  const bool needed_reset = call.messages.needs_reset();
  call.last_data = now;
  const uint64_t between = position_ - std::exchange(call.data_end, position_ + piece.size());
  call.messages.Take(piece, limits_.messages, client_->arriving_bytes);
  if (frame_.length < kKeptDataBytes) {
    call.messages.KeepBeside(kSliceBytes + std::min(between, kReadBytes), limits_.messages,
                             client_->arriving_bytes);
  }
  if (!needed_reset && call.messages.needs_reset()) ++resets_due_;
  if (!was_waiting || call.is_waiting()) return;
  if (receive_times_ != nullptr) receive_times_->Add(now - call.begun);
  client_->waiting_calls.End();
  frames_.Give(kMessageGain);
  pings_.Give(1);
}

void FrameMeter::OnFrameEnd(Clock::TimePoint now) {
  if (frame_.type != kData || (frame_.flags & kEndStream) == 0) return;
  const auto found = calls_.find(frame_.stream);
  if (found == calls_.end()) return;
  if (found->second.is_waiting() || found->second.ended) return OnClientEnd(frame_.stream, now);
  // All is as it should be.
  Forget(found);
}

void FrameMeter::OnClientEnd(uint32_t stream, Clock::TimePoint now) {
  const auto found = calls_.find(stream);
  // Paid for when the server ended it.
  const bool is_answer = found != calls_.end() && found->second.ended;
  if (found != calls_.end()) Forget(found);
  if (!is_answer) OnLostCall(stream, now);
}

void FrameMeter::OnServerEnd(uint32_t stream, Clock::TimePoint now) {
  const auto found = calls_.find(stream);
  if (found == calls_.end() || found->second.ended) return;
  Call& call = found->second;
  if (!call.is_waiting()) return Forget(found);
  Leave(call);
  call.ended = now;
  Charge(frames_, kOtherCost, now);
}

void FrameMeter::Leave(Call& call) {
  if (call.is_waiting()) client_->waiting_calls.End();
  if (call.messages.needs_reset()) --resets_due_;
  call.messages.Leave(client_->arriving_bytes);
}

void FrameMeter::Forget(Calls::iterator call) {
  Leave(call->second);
  calls_.erase(call);
}

void FrameMeter::LookForSilentCalls(Clock::TimePoint now) {
  if (calls_.empty() || now < last_look_ + kLookInterval) return;
  last_look_ = now;
  absl::erase_if(calls_, [now](const auto& call) {
    return call.second.ended && now - *call.second.ended >= kEndedMemory;
  });
  for (auto& [stream, call] : calls_) {
    if (now - call.last_data < limits_.message_limit) continue;
    // What has begun keeps other messages of the client away, so it may not stay for ever. After
    // the first message it may be the server that does not read.
    if (!call.is_waiting()) {
      call.messages.Pause(client_->arriving_bytes);
      continue;
    }
    if (call.messages.counts()) return Violate(CloseReason::kSilentCalls);
    call.is_forgiven = true;
    client_->waiting_calls.End();
    if (!forgiven_.Take(1, now)) return Violate(CloseReason::kSilentCalls);
  }
}

void FrameMeter::OnLostCall(uint32_t stream, Clock::TimePoint now) {
  LookForOldStreams(now);
  if (stream <= old_stream_) return Charge(frames_, kOtherCost, now);
  Charge(lost_calls_, 1, now);
}

void FrameMeter::LookForOldStreams(Clock::TimePoint now) {
  if (now >= last_begun_ + kShortLife) {
    old_stream_ = last_stream_;
  } else if (now >= marked_ + kShortLife) {
    old_stream_ = std::max(old_stream_, marked_stream_);
    marked_stream_ = last_stream_;
    marked_ = last_begun_;
  }
}

void FrameMeter::Charge(TokenBucket& bucket, double cost, Clock::TimePoint now) {
  if (!bucket.Take(cost, now)) Violate(CloseReason::kFrames);
}

void FrameMeter::Violate(CloseReason reason) {
  if (reason_ == CloseReason::kNone) reason_ = reason;
}

}  // namespace opserve
