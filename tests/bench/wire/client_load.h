// File: tests/bench/wire/client_load.h
//
// Calls of the client library as a program makes them, whose tensors take the path that the library
// chooses.

#ifndef OPSERVE_TESTS_BENCH_WIRE_CLIENT_LOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_CLIENT_LOAD_H_

#include <string>

#include "absl/status/status.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {

// Has `concurrency` threads call ELEMENT_WISE_ROUND of `payload` on one client until `meter` has
// enough. Checks the first and the last result of each thread in full, of the others a few bytes.
// Fails with the first call that fails or is wrong, and, where `payload` is one that the library
// shares, unless memory was shared.
absl::Status RunClientLoad(const std::string& target, const Payload& payload, int concurrency,
                           Meter& meter);

// The same on one stream, whose large requests are computed while they are sent.
absl::Status RunClientStreamLoad(const std::string& target, const Payload& payload, int concurrency,
                                 Meter& meter);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_CLIENT_LOAD_H_
