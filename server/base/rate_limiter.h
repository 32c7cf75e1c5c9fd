// File: server/base/rate_limiter.h
//
// Keeps frequent events from flooding the log.

#ifndef OPSERVE_SERVER_BASE_RATE_LIMITER_H_
#define OPSERVE_SERVER_BASE_RATE_LIMITER_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "proto/base/mutex.h"
#include "server/base/clock.h"

namespace opserve {

// Lets one event pass per interval and counts the others. Thread-safe.
class RateLimiter {
 public:
  // `clock` must outlive the limiter.
  RateLimiter(const Clock& clock, Clock::Duration interval) : clock_(clock), interval_(interval) {}

  // For an event that may pass: the number that were held back since the last one that passed.
  // Otherwise nullopt.
  std::optional<uint64_t> Pass() {
    const Clock::TimePoint now = clock_.Now();
    MutexLock lock(mutex_);
    if (last_ && now - *last_ < interval_) {
      ++held_back_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(held_back_, 0);
  }

 private:
  const Clock& clock_;
  const Clock::Duration interval_;
  Mutex mutex_;
  std::optional<Clock::TimePoint> last_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_back_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_RATE_LIMITER_H_
