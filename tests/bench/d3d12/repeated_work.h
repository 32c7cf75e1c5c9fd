// File: tests/bench/d3d12/repeated_work.h
//
// What a device does again and again within one submission: the time of one repetition, without
// what the submission itself costs.

#ifndef OPSERVE_TESTS_BENCH_D3D12_REPEATED_WORK_H_
#define OPSERVE_TESTS_BENCH_D3D12_REPEATED_WORK_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/d3d12/device_meter.h"

namespace opserve::bench {

// Has something done so many times in one submission; the seconds that it took.
using RepeatedWork = std::function<absl::StatusOr<double>(int repeats)>;

// The work of recording `before` once, and `repeated` so many times. `meter` must outlive it.
RepeatedWork WorkOf(DeviceMeter& meter, Recorder before, Recorder repeated);
RepeatedWork WorkOf(DeviceMeter& meter, Recorder repeated);

// Median seconds per repetition of each work, from rounds in which they take turns. What a
// submission costs is taken off by the difference between many repetitions and one. Takes about
// `seconds`.
absl::StatusOr<std::vector<double>> MeasureRepeated(const std::vector<RepeatedWork>& works,
                                                    double seconds);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_REPEATED_WORK_H_
