// File: tests/bench/instruction_count.h
//
// Counts instructions without counters of the processor, which virtual machines seldom have.

#ifndef OPSERVE_TESTS_BENCH_INSTRUCTION_COUNT_H_
#define OPSERVE_TESTS_BENCH_INSTRUCTION_COUNT_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace opserve::bench {

// How many instructions this thread executes from before `run` until after it, the system's own
// excepted: a copy of this process runs it step by step, some hundred thousand steps per second.
// The few that surround `run` are the same each time, so differences of counts are exact. `run`
// must need no other thread. PERMISSION_DENIED where processes may not trace each other, ABORTED
// where the copy ends early.
absl::StatusOr<uint64_t> CountInstructions(const std::function<void()>& run);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_INSTRUCTION_COUNT_H_
