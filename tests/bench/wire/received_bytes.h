// File: tests/bench/wire/received_bytes.h
//
// Reads a message that gRPC received without gathering it.

#ifndef OPSERVE_TESTS_BENCH_WIRE_RECEIVED_BYTES_H_
#define OPSERVE_TESTS_BENCH_WIRE_RECEIVED_BYTES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "grpcpp/support/byte_buffer.h"

namespace opserve::wire_bench {

// The pieces of one message. Not thread-safe.
class ReceivedBytes {
 public:
  explicit ReceivedBytes(const grpc::ByteBuffer& message) {
    // A buffer that cannot be read has no slices: too short for every check.
    (void)message.Dump(&slices_);
  }

  uint64_t size() const;

  // The beginning of the message: more than any header in front of a payload.
  std::vector<uint8_t> Header() const;

  // Whether the bytes from `offset` on are `expected`.
  bool Equal(uint64_t offset, std::span<const uint8_t> expected) const;

  // The pieces from `offset` on; they keep the memory of the message.
  std::vector<grpc::Slice> From(uint64_t offset) const;

 private:
  std::vector<grpc::Slice> slices_;
};

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_RECEIVED_BYTES_H_
