// File: tests/unit/server/base/simulated_clock.h
//
// Time that passes only when a test says so.

#ifndef OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
#define OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_

#include <atomic>

#include "server/base/clock.h"

namespace opserve::testing {

// Thread-safe. Starts an hour after the epoch.
class SimulatedClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_{Duration(std::chrono::hours(1)).count()};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
