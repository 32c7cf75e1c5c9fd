// File: tests/bench/wire/large_load.h
//
// A tensor that is larger than what anybody wants to hold, over a stream of the client library.

#ifndef OPSERVE_TESTS_BENCH_WIRE_LARGE_LOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_LARGE_LOAD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {

// Bytes of the payload that large tensors have over and over, in its memory.
inline constexpr uint64_t kLargeBlockBytes = uint64_t{16} << 20;

// Calls ELEMENT_WISE_ROUND of a tensor of `bytes` bytes, one after the other, until `meter` has
// enough. The tensor is `block`, a payload of kLargeBlockBytes, as often as it takes:
// INVALID_ARGUMENT where that is no whole number of times. Checks all of every result, for which
// there is memory.
absl::Status RunLargeLoad(const std::string& target, const Payload& block, uint64_t bytes,
                          Meter& meter);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_LARGE_LOAD_H_
