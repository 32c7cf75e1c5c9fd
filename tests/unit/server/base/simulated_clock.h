// File: tests/unit/server/base/simulated_clock.h
//
// Time that passes only when a test says so.

#ifndef OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
#define OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_

#include <atomic>
#include <chrono>

#include "server/base/clock.h"

namespace opserve::testing {

// Thread-safe.
class SimulatedClock final : public Clock {
 public:
  // Where calls come over a connection, it is to start at the real time, by which gRPC's deadlines
  // go, and calls need one beyond all that it is advanced by.
  explicit SimulatedClock(TimePoint start = TimePoint(std::chrono::hours(1)))
      : now_(start.time_since_epoch().count()) {}

  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_BASE_SIMULATED_CLOCK_H_
