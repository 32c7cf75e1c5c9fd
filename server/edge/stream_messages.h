// File: server/edge/stream_messages.h
//
// The messages that a client sends in one call, before gRPC has them.

#ifndef OPSERVE_SERVER_EDGE_STREAM_MESSAGES_H_
#define OPSERVE_SERVER_EDGE_STREAM_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/edge/arriving_bytes.h"

namespace opserve {

// gRPC's flag and length in front of each message.
inline constexpr size_t kMessagePrefixBytes = 5;

struct MessageLimits {
  // Most bytes of a message.
  uint64_t max_message_bytes = uint64_t{257} << 20;
  // Most bytes of all messages of a client that are not complete. Always room for one of the
  // largest.
  uint64_t max_arriving_bytes = uint64_t{1} << 30;
};

// gRPC 1.51.1 receives a message as a whole, whatever length it announces, and looks at its size
// then. This puts a MessageNote in the place of a message that may not come: its length over the
// announced one and its text over the first bytes, where they lie, so that nothing has to be moved.
// gRPC then makes no room for more than the note, and what the client sends before it hears of its
// refusal is what flow control let it. docs/adr/0047-refused-by-length.md has the reasons.
//
// Keeps none of the messages. Not thread-safe.
class StreamMessages {
 public:
  // The next bytes of the call, in any pieces, which it may change. `client`: whose they are.
  void Take(absl::Span<char> data, const MessageLimits& limits, ArrivingBytes& client);

  // Bytes that gRPC keeps beside those of the message that is under way, until that is complete.
  // They count for the client, too; where there are too many, needs_reset().
  void KeepBeside(uint64_t bytes, const MessageLimits& limits, ArrivingBytes& client);

  // Nothing has come for long: of a message that is not complete, what is there counts, and the
  // rest once more of it comes. There may be too many others of the client by then: needs_reset().
  void Pause(ArrivingBytes& client);

  // No more will come; nothing counts for the client any longer.
  void Leave(ArrivingBytes& client);

  // Whether a message has been complete.
  bool has_message() const { return has_message_; }

  // Whether a message that is not complete counts for the client.
  bool counts() const { return counted_bytes_ > 0 || beside_bytes_ > 0; }

  // Whether there may be no more and gRPC cannot be told so by a note, because it had that part of
  // the prefix already that announces too many bytes: the stream must be reset.
  bool needs_reset() const { return needs_reset_; }

 private:
  void TakePrefix(absl::Span<char>& data, const MessageLimits& limits, ArrivingBytes& client);
  void TakeBytes(absl::Span<char>& data);
  // More comes of a message that was paused.
  void Resume(const MessageLimits& limits, ArrivingBytes& client);
  // The length of the note in the place of that of the message. `prefix`: what gRPC has not had of
  // it.
  void Refuse(absl::Span<char> prefix, std::string note);
  void OnMessageEnd(ArrivingBytes& client);
  void Uncount(ArrivingBytes& client);

  // Of the message whose prefix is under way or there: bytes of the prefix, what they tell so far
  // of its length, and bytes still to come, of the message or the note.
  uint8_t prefix_bytes_ = 0;
  uint32_t length_ = 0;
  uint64_t missing_bytes_ = 0;
  // Which count for the client, and which do not as long as nothing comes.
  uint64_t counted_bytes_ = 0;
  uint64_t paused_bytes_ = 0;
  // What is kept beside the message: which counts for the client, and the latest, which does not.
  uint64_t beside_bytes_ = 0;
  uint64_t uncounted_bytes_ = 0;
  // What comes in place of the message; empty where that may come.
  std::string note_;
  bool has_message_ = false;
  // What comes now is for nobody.
  bool is_refused_ = false;
  bool needs_reset_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_STREAM_MESSAGES_H_
