#include "tests/conformance/targets.h"

#include "hwy/highway.h"

namespace opserve::testing {

std::vector<int64_t> RunnableTargets() { return hwy::SupportedAndGeneratedTargets(); }

std::string TargetName(int64_t target) { return hwy::TargetName(target); }

ScopedTarget::ScopedTarget(int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

ScopedTarget::~ScopedTarget() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace opserve::testing
