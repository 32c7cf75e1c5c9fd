// File: tests/bench/wire/stream_calls.h
//
// What the messages of a stream say beside the bytes of the payload.

#ifndef OPSERVE_TESTS_BENCH_WIRE_STREAM_CALLS_H_
#define OPSERVE_TESTS_BENCH_WIRE_STREAM_CALLS_H_

#include <cstdint>
#include <span>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {

// How payloads travel on a stream.
enum class StreamUse {
  kInOrder,  // ExecuteStream: a request, and its payload in pieces
  kInRuns,   // ExecuteStream: an offer first, and its payload in runs as the server's terms say
  kEcho      // ChunkedEcho of wire_peer: the pieces come back as they are
};

// Bytes of a piece: what the client library's streams have by default.
inline constexpr uint64_t kPieceBytes = uint64_t{512} << 10;

// Immutable.
class StreamCalls {
 public:
  // ELEMENT_WISE_ROUND of `payload`, or its echo. `payload` must outlive it.
  StreamCalls(StreamUse use, const Payload& payload);

  // The path of the method.
  std::string method() const;
  bool is_offered() const { return use_ == StreamUse::kInRuns; }
  // What must come back.
  std::span<const uint8_t> expected() const;

  // The message with the payload's `bytes` bytes from `first` on, without a copy of them.
  grpc::ByteBuffer Piece(uint64_t id, uint64_t first, uint64_t bytes) const;
  // The first message of a request that is offered.
  grpc::ByteBuffer Offer(uint64_t id) const;

 private:
  // What goes in front of a piece.
  std::string HeaderOf(uint64_t id, uint64_t first) const;

  const StreamUse use_;
  const Payload& payload_;
  // The field `request`, serialized once and not for every request.
  const std::string request_field_;
};

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_STREAM_CALLS_H_
