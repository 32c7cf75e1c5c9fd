// File: server/base/token_bucket.h
//
// How much of something may happen: a burst, and a steady rate.

#ifndef OPSERVE_SERVER_BASE_TOKEN_BUCKET_H_
#define OPSERVE_SERVER_BASE_TOKEN_BUCKET_H_

#include <algorithm>
#include <chrono>
#include <optional>

#include "server/base/clock.h"

namespace opserve {

// Full at first. Not thread-safe.
class TokenBucket {
 public:
  // Holds at most `capacity` tokens and gets `per_second` new ones.
  TokenBucket(double capacity, double per_second)
      : capacity_(capacity), per_second_(per_second), tokens_(capacity) {}

  // Takes `count` tokens at `now`, which must not go backwards. False, and nothing is taken, where
  // there are fewer.
  bool Take(double count, Clock::TimePoint now) {
    Refill(now);
    if (tokens_ < count) return false;
    tokens_ -= count;
    return true;
  }

  // Whether there were `count` tokens when the bucket was last asked or taken from, so that there
  // are now.
  bool had(double count) const { return tokens_ >= std::min(count, capacity_); }

  // How long after `now` there are `count` tokens, or as many as the bucket holds if that is less;
  // zero: they are there.
  Clock::Duration WaitFor(double count, Clock::TimePoint now) {
    Refill(now);
    const double missing = std::min(count, capacity_) - tokens_;
    if (missing <= 0) return Clock::Duration::zero();
    return std::chrono::ceil<Clock::Duration>(std::chrono::duration<double>(missing / per_second_));
  }

  // Takes `count` tokens at `now`, also more than there are: they are missing later.
  void TakeAll(double count, Clock::TimePoint now) {
    Refill(now);
    tokens_ -= count;
  }

  // Whether nothing is missing at `now`.
  bool is_full(Clock::TimePoint now) {
    Refill(now);
    return tokens_ >= capacity_;
  }

  // Puts `count` tokens back, up to the capacity.
  void Give(double count) { tokens_ = std::min(capacity_, tokens_ + count); }

  // Whether a token is there at `now`.
  bool has_any(Clock::TimePoint now) {
    Refill(now);
    return tokens_ >= 1;
  }

 private:
  void Refill(Clock::TimePoint now) {
    if (last_) {
      Give(per_second_ * std::chrono::duration<double>(now - *last_).count());
    }
    last_ = now;
  }

  double capacity_;
  double per_second_;
  double tokens_;
  std::optional<Clock::TimePoint> last_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_TOKEN_BUCKET_H_
