// File: tests/testing/frame_bytes.h
//
// HTTP/2 frames as a client of gRPC writes them.

#ifndef OPSERVE_TESTS_TESTING_FRAME_BYTES_H_
#define OPSERVE_TESTS_TESTING_FRAME_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace opserve::testing {

inline constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kWindow = 8,
  kMore = 9
};
inline constexpr uint8_t kEndStream = 1;

inline std::string FrameOf(FrameType type, uint32_t stream, const std::string& payload = "",
                           uint8_t flags = 0) {
  const auto byte = [](size_t value) { return static_cast<char>(value & 0xff); };
  std::string frame = {byte(payload.size() >> 16), byte(payload.size() >> 8), byte(payload.size()),
                       static_cast<char>(type),    static_cast<char>(flags),  byte(stream >> 24),
                       byte(stream >> 16),         byte(stream >> 8),         byte(stream)};
  return frame + payload;
}

// gRPC's prefix of a message of that many bytes.
inline std::string PrefixOf(size_t bytes, char flag = 0) {
  std::string prefix(5, flag);
  for (size_t i = 0; i < 4; ++i) prefix[4 - i] = static_cast<char>(bytes >> (8 * i) & 0xff);
  return prefix;
}

// The same with the message.
inline std::string MessageOf(size_t bytes) { return PrefixOf(bytes) + std::string(bytes, 'x'); }

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_FRAME_BYTES_H_
