// File: client/rpc/watchdog.h
//
// Runs actions at given times unless they are called off, on a thread of its own.

#ifndef OPSERVE_CLIENT_RPC_WATCHDOG_H_
#define OPSERVE_CLIENT_RPC_WATCHDOG_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/time.h"

namespace opserve::client_internal {

// Thread-safe. Its destructor calls everything off that has not begun, and waits for the rest.
class Watchdog {
 public:
  // Names an action.
  using Key = std::pair<absl::Time, uint64_t>;

  Watchdog() = default;
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Has `action` run once after `delay`; never for absl::InfiniteDuration().
  Key RunAfter(absl::Duration delay, std::function<void()> action);

  // Calls an action off if it has not begun.
  void Cancel(const Key& key);

 private:
  void Run();

  // std::mutex, which ThreadSanitizer understands; it guards all that follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t last_number_ = 0;
  std::map<Key, std::function<void()>> actions_;
  bool is_stopping_ = false;
  std::thread thread_;  // from the first action on
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_WATCHDOG_H_
