// File: server/pool/probe_budget.h
//
// When a request that may run anywhere goes where it is not expected to be done first.

#ifndef OPSERVE_SERVER_POOL_PROBE_BUDGET_H_
#define OPSERVE_SERVER_POOL_PROBE_BUDGET_H_

#include <atomic>

#include "server/base/clock.h"

namespace opserve {

// Costs are learnt from runs alone, so a device that was slow once would never be tried again. Each
// request saves a hundredth of the time that it is expected to keep its device busy; what has been
// saved since the last try pays for the time that the next one is expected to lose. So tries are
// the rarer the more they cost, and together cost a hundredth at most. Thread-safe.
class ProbeBudget {
 public:
  // A request is expected to keep its device busy for `expected`, and to lose `loss` on another
  // one. Whether it is to try that: then all that was saved is spent.
  bool Spend(Clock::Duration expected, Clock::Duration loss);

 private:
  std::atomic<Clock::Duration::rep> saved_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_PROBE_BUDGET_H_
