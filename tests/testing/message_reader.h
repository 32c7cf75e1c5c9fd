// File: tests/testing/message_reader.h
//
// What gRPC makes of the HTTP/2 frames that the server's edge lets through.

#ifndef OPSERVE_TESTS_TESTING_MESSAGE_READER_H_
#define OPSERVE_TESTS_TESTING_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/edge/message_note.h"
#include "tests/testing/frame_bytes.h"

namespace opserve::testing {

// Reads what comes behind the meter as gRPC 1.51.1 does: it waits for messages as long as they say,
// and gives a stream up whose DATA has a flag that it does not know.
class MessageReader {
 public:
  void Take(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    while (bytes_.size() >= 9) {
      const size_t length = Number(0, 3);
      if (bytes_.size() < 9 + length) return;
      const auto type = static_cast<uint8_t>(bytes_[3]);
      const auto flags = static_cast<uint8_t>(bytes_[4]);
      Stream& stream = streams[static_cast<uint32_t>(Number(5, 4))];
      if (type == kData && (flags & ~kEndStream) != 0) stream.is_reset = true;
      if (type == kData && !stream.is_reset) stream.Take(bytes_.substr(9, length));
      bytes_.erase(0, 9 + length);
    }
  }

  struct Stream {
    void Take(const std::string& data) {
      left += data;
      while (left.size() >= 5) {
        announced = 0;
        for (size_t i = 1; i < 5; ++i) announced = announced << 8 | static_cast<uint8_t>(left[i]);
        if (left.size() < 5 + announced) return;
        messages.push_back(left.substr(5, announced));
        left.erase(0, 5 + announced);
        announced = 0;
        // Whoever reads a note asks for no more.
        if (DecodeMessageNote(messages.back())) is_reset = true;
      }
    }

    std::vector<std::string> messages;
    bool is_reset = false;
    // Of the message that is not complete.
    uint64_t announced = 0;
    std::string left;
  };

  std::map<uint32_t, Stream> streams;

 private:
  size_t Number(size_t at, size_t count) const {
    size_t value = 0;
    for (size_t i = at; i < at + count; ++i) value = value << 8 | static_cast<uint8_t>(bytes_[i]);
    return value;
  }

  std::string bytes_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_MESSAGE_READER_H_
