// File: client/base/clock.h
//
// Time for the client: reading it, sleeping, and running something later. Thread-safe.

#ifndef OPSERVE_CLIENT_BASE_CLOCK_H_
#define OPSERVE_CLIENT_BASE_CLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace opserve::client_internal {

// The longest time that a clock of the system is asked for. Its numbers end some 292 years after
// 1970, or after the start of the machine: what takes longer is waited for in steps, or for ever.
inline constexpr absl::Duration kLongestTime = absl::Hours(24 * 365 * 100);

class ClientClock {
 public:
  // Names an action.
  using Key = std::pair<absl::Time, uint64_t>;

  virtual ~ClientClock() = default;
  // Monotonic; only differences mean anything.
  virtual absl::Time Now() = 0;
  virtual void SleepFor(absl::Duration duration) = 0;
  // Runs `action` once after `delay`, on a thread of the clock. It must not block. Those that are
  // due run in the order of their times, which a negative delay puts into the past.
  virtual Key RunAfter(absl::Duration delay, std::function<void()> action) = 0;
  // Calls an action off if it has not begun.
  virtual void Cancel(const Key& key) = 0;
};

// The clock of this machine. Its destructor runs what is still pending at once.
std::unique_ptr<ClientClock> MakeSteadyClock();

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_BASE_CLOCK_H_
