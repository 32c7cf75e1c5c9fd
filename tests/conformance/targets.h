// File: tests/conformance/targets.h
//
// Runs kernels on a chosen instruction set of the host.

#ifndef OPSERVE_TESTS_CONFORMANCE_TARGETS_H_
#define OPSERVE_TESTS_CONFORMANCE_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_executor.h"

namespace opserve::testing {

// All targets that kernels are compiled for and that this host can run, best first.
const std::vector<int64_t>& RunnableTargets();

// "AVX2".
std::string TargetName(int64_t target);

// Makes GetKernel choose `target` while it lives. Affects the whole process.
class ScopedTarget {
 public:
  explicit ScopedTarget(int64_t target);
  ~ScopedTarget();
  ScopedTarget(const ScopedTarget&) = delete;
  ScopedTarget& operator=(const ScopedTarget&) = delete;
};

// Two threads that divide calls, for all tests of a program.
const CpuExecutor& Executor();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_TARGETS_H_
