// File: tests/bench/wire/answer_check.h
//
// Whether an answer is the right one. Stateless.

#ifndef OPSERVE_TESTS_BENCH_WIRE_ANSWER_CHECK_H_
#define OPSERVE_TESTS_BENCH_WIRE_ANSWER_CHECK_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "tests/bench/wire/received_bytes.h"

namespace opserve::wire_bench {

// A part of a payload.
struct Part {
  uint64_t first = 0;
  uint64_t bytes = 0;
};

// Where the payload begins in `answer`, a message whose field `field` occurs once, as its last
// field, with `payload_bytes` bytes. INTERNAL where it is no such message.
absl::StatusOr<uint64_t> FindPayload(const ReceivedBytes& answer, int field,
                                     uint64_t payload_bytes);

// OK if `answer` is a message whose field `field` occurs once, as its last field, with as many
// bytes as `payload` has, of which those in `part` equal those of `payload`. Else an INTERNAL error
// that tells the difference.
absl::Status CheckAnswer(const grpc::ByteBuffer& answer, int field,
                         std::span<const uint8_t> payload, Part part);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_ANSWER_CHECK_H_
