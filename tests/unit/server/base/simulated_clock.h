// File: tests/unit/server/base/simulated_clock.h
//
// Time that passes only when a test says so.

#ifndef OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
#define OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_

#include <atomic>

#include "server/base/clock.h"

namespace opserve::testing {

// Thread-safe. Starts so long before the epoch of the system's clock that deadlines of calls, which
// go by that one, are far away, however long ago the machine was started.
class SimulatedClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_{Duration(-std::chrono::hours(1000)).count()};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
