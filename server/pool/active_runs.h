// File: server/pool/active_runs.h
//
// The batches that a device works on, and how long they will take.

#ifndef OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_
#define OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_

#include <cstdint>
#include <vector>

#include "server/base/clock.h"

namespace opserve {

// Not thread-safe.
class ActiveRuns {
 public:
  // A run begins. Returns what End takes.
  uint64_t Begin(Clock::TimePoint now, Clock::Duration expected) {
    runs_.push_back({next_, now, expected});
    return next_++;
  }
  void End(uint64_t id) {
    std::erase_if(runs_, [id](const Run& run) { return run.id == id; });
  }

  // Time that all of them are expected to take from now on. A run that is overdue is expected to
  // take as long again as it is overdue, so that a device that hangs looks worse and worse.
  Clock::Duration TimeLeft(Clock::TimePoint now) const {
    Clock::Duration total{};
    for (const Run& run : runs_) {
      const Clock::Duration left = run.expected - (now - run.start);
      total += left < Clock::Duration::zero() ? -left : left;
    }
    return total;
  }

 private:
  struct Run {
    uint64_t id;
    Clock::TimePoint start;
    Clock::Duration expected;
  };

  std::vector<Run> runs_;
  uint64_t next_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_
