// File: tests/bench/wire/stream_answer.h
//
// A message of ExecuteStream's answers, read where it lies.

#ifndef OPSERVE_TESTS_BENCH_WIRE_STREAM_ANSWER_H_
#define OPSERVE_TESTS_BENCH_WIRE_STREAM_ANSWER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace opserve::wire_bench {

struct StreamAnswer {
  uint64_t id = 0;
  uint64_t payload_bytes = 0;  // of the whole payload; only in the first message
  uint64_t run_bytes = 0;      // of the terms: bytes of the payload in a run; else 0
  uint64_t max_open_runs = 0;  // of the terms
  uint64_t piece_offset = 0;   // where the piece of this message begins in it
  uint64_t piece_bytes = 0;
};

// Reads the fields in front of the payload; `header` is the beginning of the message. Fails where
// the message is malformed, or tells that the request failed or that its payload cannot come in
// runs.
absl::StatusOr<StreamAnswer> ReadStreamAnswer(const std::vector<uint8_t>& header);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_STREAM_ANSWER_H_
