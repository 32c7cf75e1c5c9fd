#include "client/wire/payload_hold.h"

#include <chrono>
#include <utility>

namespace opserve::client_internal {

grpc::Slice PayloadHold::Lend(std::span<const std::byte> bytes) {
  const MutexLock lock(mutex_);
  ++lent_;
  // gRPC only reads what is sent.
  return {const_cast<std::byte*>(bytes.data()), bytes.size(), GiveBack, this};
}

bool PayloadHold::IsReleased() {
  const MutexLock lock(mutex_);
  return lent_ == 0;
}

bool PayloadHold::WaitFor(absl::Duration limit) {
  const MutexLock lock(mutex_);
  if (limit == absl::InfiniteDuration()) {
    while (lent_ > 0) released_.Wait(mutex_);
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  while (lent_ > 0 && released_.WaitUntil(mutex_, end)) {
  }
  return lent_ == 0;
}

void PayloadHold::OnRelease(std::function<void()> action) {
  {
    const MutexLock lock(mutex_);
    if (lent_ > 0) {
      on_release_ = std::move(action);
      return;
    }
  }
  action();
}

void PayloadHold::GiveBack(void* hold) {
  auto& self = *static_cast<PayloadHold*>(hold);
  std::function<void()> action;
  {
    const MutexLock lock(self.mutex_);
    if (--self.lent_ > 0) return;
    action = std::move(self.on_release_);
    self.released_.NotifyAll();
  }
  // From here on the hold may be gone.
  if (action) action();
}

}  // namespace opserve::client_internal
