#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "opserve/call_handle.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

struct CallEnd::Impl {
  Mutex mutex;
  CondVar changed;
  bool has_come ABSL_GUARDED_BY(mutex) = false;
  std::vector<absl::AnyInvocable<void() &&>> actions ABSL_GUARDED_BY(mutex);
};

CallEnd::CallEnd() : impl_(std::make_unique<Impl>()) {}

CallEnd::~CallEnd() = default;

void CallEnd::Come() {
  std::vector<absl::AnyInvocable<void() &&>> actions;
  {
    MutexLock lock(impl_->mutex);
    impl_->has_come = true;
    actions.swap(impl_->actions);
    impl_->changed.NotifyAll();
  }
  for (auto& action : actions) std::move(action)();
}

bool CallEnd::WaitFor(absl::Duration limit) const {
  // What is longer is without end: the clock's numbers have one.
  const absl::Duration kMost = absl::Hours(24 * 365);
  const auto until =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(limit, kMost));
  MutexLock lock(impl_->mutex);
  while (!impl_->has_come) {
    if (limit >= kMost) {
      impl_->changed.Wait(impl_->mutex);
    } else if (!impl_->changed.WaitUntil(impl_->mutex, until)) {
      break;
    }
  }
  return impl_->has_come;
}

void CallEnd::Then(absl::AnyInvocable<void() &&> action) {
  {
    MutexLock lock(impl_->mutex);
    if (!impl_->has_come) {
      impl_->actions.push_back(std::move(action));
      return;
    }
  }
  std::move(action)();
}

}  // namespace opserve::client_internal
