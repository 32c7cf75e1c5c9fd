#include "opserve/call_handle.h"

namespace opserve::client_internal {

void Cancellation::Cancel() {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_cancelled_, true)) return;
    action = std::exchange(action_, nullptr);
  }
  if (action) action();
}

bool Cancellation::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

void Cancellation::OnCancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    // What is replaced goes after the lock: its end may be that of much else.
    if (!is_cancelled_) return action_.swap(action);
  }
  if (action) action();
}

}  // namespace opserve::client_internal
