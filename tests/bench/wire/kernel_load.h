// File: tests/bench/wire/kernel_load.h
//
// The server's kernel without the server.

#ifndef OPSERVE_TESTS_BENCH_WIRE_KERNEL_LOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_KERNEL_LOAD_H_

#include <chrono>

#include "absl/status/statusor.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {

// Measures ELEMENT_WISE_ROUND of `payload` in this process, by a CpuExecutor with a thread per
// processor, into `concurrency` results in turn. With more than one, half of the time one thread
// makes all calls, and half of it as many threads as there are processors, at most `concurrency`;
// returns the faster half. INTERNAL where a result is wrong; all are compared in the end.
absl::StatusOr<Measurement> MeasureKernel(const Payload& payload, int concurrency,
                                          std::chrono::duration<double> warm_up,
                                          std::chrono::duration<double> duration);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_KERNEL_LOAD_H_
