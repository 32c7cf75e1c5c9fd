#include "tests/conformance/targets.h"

#include "hwy/highway.h"

namespace opserve::testing {

const std::vector<int64_t>& RunnableTargets() {
  static const auto& targets = *new std::vector<int64_t>(hwy::SupportedAndGeneratedTargets());
  return targets;
}

std::string TargetName(int64_t target) { return hwy::TargetName(target); }

ScopedTarget::ScopedTarget(int64_t target) {
  // The list must not be made while only one target seems to be supported.
  RunnableTargets();
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

ScopedTarget::~ScopedTarget() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

const CpuExecutor& Executor() {
  static const CpuExecutor& executor = *new CpuExecutor(2);
  return executor;
}

}  // namespace opserve::testing
