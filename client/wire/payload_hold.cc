#include "client/wire/payload_hold.h"

#include <utility>

namespace opserve::client_internal {

grpc::Slice PayloadHold::Lend(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  ++lent_;
  // gRPC only reads what is sent.
  return {const_cast<std::byte*>(bytes.data()), bytes.size(), GiveBack, this};
}

bool PayloadHold::IsReleased() {
  const std::lock_guard lock(mutex_);
  return lent_ == 0;
}

bool PayloadHold::WaitFor(absl::Duration limit) {
  std::unique_lock lock(mutex_);
  const auto is_released = [this] { return lent_ == 0; };
  if (limit != absl::InfiniteDuration()) {
    return released_.wait_for(lock, absl::ToChronoNanoseconds(limit), is_released);
  }
  released_.wait(lock, is_released);
  return true;
}

void PayloadHold::OnRelease(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(self.mutex_);
    if (--self.lent_ > 0) return;
    action = std::move(self.on_release_);
    self.released_.notify_all();
  }
  // From here on the hold may be gone.
  if (action) action();
}

}  // namespace opserve::client_internal
