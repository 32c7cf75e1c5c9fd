#include <utility>

#include "opserve/call_handle.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

struct Cancellation::Impl {
  Mutex mutex;
  bool is_cancelled ABSL_GUARDED_BY(mutex) = false;
  std::function<void()> action ABSL_GUARDED_BY(mutex);
};

Cancellation::Cancellation() : impl_(std::make_unique<Impl>()) {}

Cancellation::~Cancellation() = default;

void Cancellation::Cancel() {
  std::function<void()> action;
  {
    MutexLock lock(impl_->mutex);
    if (std::exchange(impl_->is_cancelled, true)) return;
    action = std::exchange(impl_->action, nullptr);
  }
  if (action) action();
}

bool Cancellation::is_cancelled() const {
  MutexLock lock(impl_->mutex);
  return impl_->is_cancelled;
}

void Cancellation::OnCancel(std::function<void()> action) {
  {
    MutexLock lock(impl_->mutex);
    // What is replaced goes after the lock: its end may be that of much else.
    if (!impl_->is_cancelled) return impl_->action.swap(action);
  }
  if (action) action();
}

}  // namespace opserve::client_internal
