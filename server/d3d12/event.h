// File: server/d3d12/event.h
//
// What a fence signals. libvkd3d takes the function that sets an event from its user, so that
// events can be our own and every wait can have a limit.

#ifndef OPSERVE_SERVER_D3D12_EVENT_H_
#define OPSERVE_SERVER_D3D12_EVENT_H_

#include <chrono>
#include <condition_variable>

#include "server/mutex.h"

namespace opserve::d3d12 {

// Thread-safe.
class Event {
 public:
  // Wakes all waiters, now and until Reset.
  void Set();
  void Reset();
  // Waits until the event is set; false if it is not within `timeout`.
  bool WaitFor(std::chrono::nanoseconds timeout);

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool is_set_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_EVENT_H_
