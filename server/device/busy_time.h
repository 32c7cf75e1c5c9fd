// File: server/device/busy_time.h
//
// How long a device was at work on each of the runs that several threads gave it.

#ifndef OPSERVE_SERVER_DEVICE_BUSY_TIME_H_
#define OPSERVE_SERVER_DEVICE_BUSY_TIME_H_

#include <algorithm>
#include <atomic>
#include <chrono>

namespace opserve {

// Of one device, which does its runs in their order. Thread-safe.
class BusyTime {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // A run that the device was given at `begin` is over at `end`. Returns how long the device was at
  // work on it: it began once it was done with the run before. Threads may tell of their ends in
  // another order than these had, so it is never negative, and an earlier end takes nothing back.
  TimePoint::duration Note(TimePoint begin, TimePoint end) {
    TimePoint before = last_end_.load();
    while (before < end && !last_end_.compare_exchange_weak(before, end)) {
    }
    return std::max(end - std::max(begin, before), TimePoint::duration::zero());
  }

 private:
  // The latest end that is known.
  std::atomic<TimePoint> last_end_{};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_BUSY_TIME_H_
