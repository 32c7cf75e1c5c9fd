// File: server/edge/message_note.h
//
// What the edge gives to gRPC in the place of a message that may not come.

#ifndef OPSERVE_SERVER_EDGE_MESSAGE_NOTE_H_
#define OPSERVE_SERVER_EDGE_MESSAGE_NOTE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// Why the message may not come. Travels within the process, as a message of its own in the place of
// the other: so whoever waits for that one gets this, and with it knows the call that is refused.
struct MessageNote {
  // Bytes that the message was to have.
  uint64_t bytes = 0;
  // Most that it may have; where `others` is not 0, most that the client may send at a time.
  uint64_t limit = 0;
  // What the client was sending at that time.
  uint64_t others = 0;
};

// No message of protobuf begins so: the first byte would be the key of a field 0. A client that
// sends a note by itself is told that it is refused.
inline constexpr absl::string_view kMessageNoteMark = "\x07opserve";
inline constexpr size_t kMessageNoteBytes = kMessageNoteMark.size() + sizeof(MessageNote);

inline std::string EncodeMessageNote(const MessageNote& note) {
  std::string bytes(kMessageNoteMark);
  bytes.append(reinterpret_cast<const char*>(&note), sizeof(note));
  return bytes;
}

// nullopt where the message is none.
inline std::optional<MessageNote> DecodeMessageNote(absl::string_view message) {
  if (message.size() != kMessageNoteBytes ||
      message.substr(0, kMessageNoteMark.size()) != kMessageNoteMark) {
    return std::nullopt;
  }
  MessageNote note;
  std::memcpy(&note, message.data() + kMessageNoteMark.size(), sizeof(note));
  return note;
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_MESSAGE_NOTE_H_
