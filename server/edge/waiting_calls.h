// File: server/edge/waiting_calls.h
//
// How many calls of one client have not sent their first message.

#ifndef OPSERVE_SERVER_EDGE_WAITING_CALLS_H_
#define OPSERVE_SERVER_EDGE_WAITING_CALLS_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "server/base/clock.h"

namespace opserve {

// Those of all connections of the client. Once there were too many, there may be no new ones for a
// second: the connection that is ended for it takes its calls along, and in their place each of the
// client's other connections would begin as many, all of which gRPC works on. Thread-safe.
class WaitingCalls {
 public:
  static constexpr std::chrono::seconds kBar{1};

  // One more, which counts in any case. Whether it may be there, with `most` of them.
  bool Begin(int64_t most, Clock::TimePoint now) {
    if (++count_ <= most) return now >= barred_until_.load(std::memory_order_relaxed);
    // Calls that come while they are barred do not prolong it: clients try again.
    barred_until_.store(now + kBar, std::memory_order_relaxed);
    return false;
  }

  // So many have sent their message, or ended.
  void End(int64_t count = 1) { count_ -= count; }

  int64_t count() const { return count_; }

 private:
  std::atomic<int64_t> count_ = 0;
  std::atomic<Clock::TimePoint> barred_until_ = Clock::TimePoint::min();
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_WAITING_CALLS_H_
