#include "server/edge/stream_messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/edge/message_note.h"

namespace opserve {
namespace {

// Shorter messages come in any case and do not count: calls that wait for their message are few
// enough, and a note must fit in the place of a message.
constexpr uint32_t kShortMessageBytes = 4096;
static_assert(kMessageNoteBytes <= kShortMessageBytes);

// What is kept beside a message counts as soon as it is more than this.
constexpr uint64_t kMostUncounted = 16 << 10;

// Most bytes of all messages of a client that are not complete.
uint64_t MostArriving(const MessageLimits& limits) {
  return std::max(limits.max_arriving_bytes, limits.max_message_bytes);
}

// Counts the message; or tells why it may not come.
std::optional<MessageNote> Admit(uint64_t bytes, const MessageLimits& limits,
                                 ArrivingBytes& client) {
  if (bytes > limits.max_message_bytes) {
    return MessageNote{.bytes = bytes, .limit = limits.max_message_bytes};
  }
  const uint64_t most = MostArriving(limits);
  if (client.Begin(bytes, most)) return std::nullopt;
  // Others may have been completed meanwhile.
  return MessageNote{
      .bytes = bytes, .limit = most, .others = std::max<uint64_t>(client.count(), 1)};
}

}  // namespace

void StreamMessages::Take(absl::Span<char> data, const MessageLimits& limits,
                          ArrivingBytes& client) {
  while (!data.empty() && !is_refused_) {
    if (prefix_bytes_ < kMessagePrefixBytes) {
      TakePrefix(data, limits, client);
    } else if (paused_bytes_ > 0) {
      Resume(limits, client);
    } else {
      TakeBytes(data);
    }
    if (prefix_bytes_ == kMessagePrefixBytes && missing_bytes_ == 0) OnMessageEnd(client);
  }
}

void StreamMessages::KeepBeside(uint64_t bytes, const MessageLimits& limits,
                                ArrivingBytes& client) {
  if (prefix_bytes_ == 0 || is_refused_ || !note_.empty()) return;
  uncounted_bytes_ += bytes;
  if (uncounted_bytes_ <= kMostUncounted) return;
  if (client.Keep(uncounted_bytes_, MostArriving(limits))) {
    beside_bytes_ += std::exchange(uncounted_bytes_, 0);
    return;
  }
  is_refused_ = true;
  needs_reset_ = true;
}

void StreamMessages::Pause(ArrivingBytes& client) {
  if (counted_bytes_ == 0 || paused_bytes_ > 0) return;
  paused_bytes_ = missing_bytes_;
  counted_bytes_ -= paused_bytes_;
  client.End(paused_bytes_);
}

void StreamMessages::Leave(ArrivingBytes& client) {
  Uncount(client);
  is_refused_ = true;
  needs_reset_ = false;
}

void StreamMessages::TakePrefix(absl::Span<char>& data, const MessageLimits& limits,
                                ArrivingBytes& client) {
  const absl::Span<char> prefix =
      data.first(std::min(kMessagePrefixBytes - prefix_bytes_, data.size()));
  data.remove_prefix(prefix.size());
  // The first byte is the flag and shifted out.
  for (const char byte : prefix) length_ = length_ << 8 | static_cast<uint8_t>(byte);
  prefix_bytes_ += static_cast<uint8_t>(prefix.size());
  if (prefix_bytes_ < kMessagePrefixBytes) return;
  missing_bytes_ = length_;
  if (length_ <= kShortMessageBytes) return;
  if (const auto note = Admit(length_, limits, client)) {
    Refuse(prefix, EncodeMessageNote(*note));
  } else {
    counted_bytes_ = length_;
  }
}

void StreamMessages::TakeBytes(absl::Span<char>& data) {
  const absl::Span<char> piece =
      data.first(static_cast<size_t>(std::min<uint64_t>(missing_bytes_, data.size())));
  data.remove_prefix(piece.size());
  if (!note_.empty()) {
    const size_t written = note_.size() - static_cast<size_t>(missing_bytes_);
    std::copy_n(note_.begin() + static_cast<std::ptrdiff_t>(written), piece.size(), piece.begin());
  }
  missing_bytes_ -= piece.size();
}

void StreamMessages::Resume(const MessageLimits& limits, ArrivingBytes& client) {
  if (client.Begin(paused_bytes_, MostArriving(limits))) {
    counted_bytes_ += std::exchange(paused_bytes_, 0);
    return;
  }
  // gRPC has had the prefix.
  is_refused_ = true;
  needs_reset_ = true;
}

void StreamMessages::Refuse(absl::Span<char> prefix, std::string note) {
  // Of the length gRPC has had the bytes before, if any; the note has need of the last one.
  const size_t bits = 8 * std::min<size_t>(prefix.size(), kMessagePrefixBytes - 1);
  if (uint64_t{length_} >> bits != 0) {
    is_refused_ = true;
    needs_reset_ = true;
    return;
  }
  uint64_t length = note.size();
  for (size_t i = prefix.size(); i > 0; --i) {
    prefix[i - 1] = static_cast<char>(length & 0xff);
    length >>= 8;
  }
  missing_bytes_ = note.size();
  note_ = std::move(note);
}

void StreamMessages::Uncount(ArrivingBytes& client) {
  // Most messages are short, and all connections of a client share what is counted.
  if (counted_bytes_ > 0) client.End(std::exchange(counted_bytes_, 0));
  if (beside_bytes_ > 0) client.Drop(std::exchange(beside_bytes_, 0));
  uncounted_bytes_ = 0;
}

void StreamMessages::OnMessageEnd(ArrivingBytes& client) {
  Uncount(client);
  has_message_ = true;
  prefix_bytes_ = 0;
  length_ = 0;
  is_refused_ = !note_.empty();
}

}  // namespace opserve
