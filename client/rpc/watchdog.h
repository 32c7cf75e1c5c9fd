// File: client/rpc/watchdog.h
//
// Runs actions at given times unless they are called off, on a thread of its own.

#ifndef OPSERVE_CLIENT_RPC_WATCHDOG_H_
#define OPSERVE_CLIENT_RPC_WATCHDOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// Thread-safe. Its destructor calls everything off that has not begun, and waits for the rest.
class Watchdog {
 public:
  // Names an action.
  using Key = std::pair<absl::Time, uint64_t>;

  // Throws std::system_error where there is no thread for it.
  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Has `action` run once after `delay`; never for absl::InfiniteDuration(). Those that are due run
  // in the order of their times, which a negative delay puts into the past.
  Key RunAfter(absl::Duration delay, std::function<void()> action);

  // Calls an action off if it has not begun.
  void Cancel(const Key& key);

 private:
  void Run();
  // Or until Wake, or for as long as one wait can be.
  void SleepUntil(absl::Time time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Key, std::function<void()>> actions_ ABSL_GUARDED_BY(mutex_);
  // Until when the thread sleeps, which may be for an action that was called off: then it looks for
  // the next. So nearly all that watches a call, and is called off at its end, wakes nobody. In the
  // past: it does not sleep.
  absl::Time wakes_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // uses all else
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_WATCHDOG_H_
