#include "server/d3d12/event.h"

namespace opserve::d3d12 {

void Event::Set() {
  MutexLock lock(mutex_);
  is_set_ = true;
  // Under the lock: the waiter may destroy the event as soon as it can lock.
  changed_.notify_all();
}

void Event::Reset() {
  MutexLock lock(mutex_);
  is_set_ = false;
}

bool Event::WaitFor(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  while (!is_set_) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  return is_set_;
}

}  // namespace opserve::d3d12
