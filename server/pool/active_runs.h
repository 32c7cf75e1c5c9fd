// File: server/pool/active_runs.h
//
// The runs that a device works on: how long they will keep it, and how long each of them did.

#ifndef OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_
#define OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/base/clock.h"

namespace opserve {

// Runs share the device: of the time in which several are at work each has had its part. So what a
// run keeps the device busy for does not depend on how many others there were, and sums of it tell
// when a device will be done. Not thread-safe.
class ActiveRuns {
 public:
  // A run begins that is expected to keep the device busy for `expected`. Returns what End takes.
  uint64_t Begin(Clock::TimePoint now, Clock::Duration expected) {
    Advance(now);
    runs_.push_back({next_, attained_, expected});
    return next_++;
  }

  // It is over. Returns how long it kept the device busy: its parts of the time since it began.
  Clock::Duration End(uint64_t id, Clock::TimePoint now) {
    Advance(now);
    const auto run =
        std::find_if(runs_.begin(), runs_.end(), [id](const Run& other) { return other.id == id; });
    const Clock::Duration busy = attained_ - run->start;
    runs_.erase(run);
    return busy;
  }

  size_t size() const { return runs_.size(); }

  // Time that all of them are expected to keep the device busy for from now on. A run that is
  // overdue is expected to take as long again as it is overdue, so that a device that hangs looks
  // worse and worse.
  Clock::Duration TimeLeft(Clock::TimePoint now) const {
    const Clock::Duration attained = AttainedAt(now);
    Clock::Duration total{};
    for (const Run& run : runs_) total += std::chrono::abs(run.expected - (attained - run.start));
    return total;
  }

 private:
  struct Run {
    uint64_t id;
    // What a run that never ended would have had by then.
    Clock::Duration start;
    Clock::Duration expected;
  };

  // The part of the time until `now` that a run which never ended would have had. Threads tell of
  // events in another order than they happened, so `now` may be before the latest one.
  Clock::Duration AttainedAt(Clock::TimePoint now) const {
    if (runs_.empty() || now <= latest_) return attained_;
    const auto runs = static_cast<Clock::Duration::rep>(runs_.size());
    // Rounded to the nearest, or much would be lost where events follow each other closely.
    return attained_ + Clock::Duration(((now - latest_).count() + runs / 2) / runs);
  }

  // Before the runs become others.
  void Advance(Clock::TimePoint now) {
    attained_ = AttainedAt(now);
    latest_ = std::max(latest_, now);
  }

  std::vector<Run> runs_;
  uint64_t next_ = 0;
  Clock::TimePoint latest_{};
  Clock::Duration attained_{};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_ACTIVE_RUNS_H_
