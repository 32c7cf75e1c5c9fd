// File: server/edge/frame_cursor.h
//
// The headers of HTTP/2 frames in bytes that come in any pieces.

#ifndef OPSERVE_SERVER_EDGE_FRAME_CURSOR_H_
#define OPSERVE_SERVER_EDGE_FRAME_CURSOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace opserve {

// The header of a frame (RFC 9113, section 4.1).
struct FrameHeader {
  uint32_t length = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Not thread-safe. The first byte that it takes must be that of a frame.
class FrameCursor {
 public:
  // Bytes of the latest frame's payload that are still to come. A header comes after them.
  uint32_t missing_bytes() const { return missing_bytes_; }

  // Takes what `bytes` begins with of a header; nullopt, with all taken, where that is not complete
  // yet. To be called while no payload is missing.
  std::optional<FrameHeader> TakeHeader(absl::string_view& bytes) {
    FrameHeader frame;
    if (header_bytes_ == 0 && bytes.size() >= header_.size()) {
      // Nearly all are in one piece.
      frame = Parse(bytes.data());
      bytes.remove_prefix(header_.size());
    } else {
      const size_t count = std::min(header_.size() - header_bytes_, bytes.size());
      std::copy_n(bytes.begin(), count, header_.begin() + header_bytes_);
      header_bytes_ += count;
      bytes.remove_prefix(count);
      if (header_bytes_ < header_.size()) return std::nullopt;
      header_bytes_ = 0;
      frame = Parse(header_.data());
    }
    missing_bytes_ = frame.length;
    return frame;
  }

  // Takes what `bytes` begins with of the missing payload, and returns it.
  absl::string_view TakePayload(absl::string_view& bytes) {
    const absl::string_view piece = bytes.substr(0, missing_bytes_);
    missing_bytes_ -= static_cast<uint32_t>(piece.size());
    bytes.remove_prefix(piece.size());
    return piece;
  }

 private:
  static FrameHeader Parse(const char* header) {
    const auto byte = [header](size_t i) { return static_cast<uint8_t>(header[i]); };
    return {uint32_t{byte(0)} << 16 | uint32_t{byte(1)} << 8 | byte(2), byte(3), byte(4),
            (uint32_t{byte(5)} & 0x7f) << 24 | uint32_t{byte(6)} << 16 | uint32_t{byte(7)} << 8 |
                byte(8)};
  }

  // One of which a part is still to come, and how much of it is there.
  std::array<char, 9> header_ = {};
  size_t header_bytes_ = 0;
  // What is still to come of the payload of the frame whose header came last.
  uint32_t missing_bytes_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_FRAME_CURSOR_H_
