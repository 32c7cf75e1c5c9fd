// File: server/base/clock.h
//
// The source of time of the server. Everything that measures, waits or expires reads a Clock, so
// that tests move time themselves.

#ifndef OPSERVE_SERVER_BASE_CLOCK_H_
#define OPSERVE_SERVER_BASE_CLOCK_H_

#include <chrono>

namespace opserve {

// Monotonic time. Implementations are thread-safe.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // The deadline of work that has none.
  static constexpr TimePoint kNever = TimePoint::max();

  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
};

// The operating system's monotonic clock; lives for ever.
const Clock& SteadyClock();

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_CLOCK_H_
