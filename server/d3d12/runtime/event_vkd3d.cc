// Events for libvkd3d, which takes the function that sets an event from its user: they can be our
// own.

#include "proto/base/mutex.h"
#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {

struct Event::State {
  Mutex mutex;
  CondVar changed;
  bool is_set ABSL_GUARDED_BY(mutex) = false;
};

Event::Event() : state_(std::make_unique<State>()) {}

Event::~Event() = default;

bool Event::is_valid() const { return true; }

void Event::Set() {
  MutexLock lock(state_->mutex);
  state_->is_set = true;
  // Under the lock: the waiter may destroy the event as soon as it can lock.
  state_->changed.NotifyAll();
}

void Event::Reset() {
  MutexLock lock(state_->mutex);
  state_->is_set = false;
}

bool Event::WaitFor(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(state_->mutex);
  while (!state_->is_set) {
    if (!state_->changed.WaitUntil(state_->mutex, deadline)) break;
  }
  return state_->is_set;
}

// runtime_vkd3d.cc turns it back.
void* Event::handle() { return this; }

}  // namespace opserve::d3d12
