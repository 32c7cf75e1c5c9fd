#include "tests/integration/gated_device.h"

#include <chrono>

namespace opserve::testing {

absl::Status GatedDevice::Run(std::span<const DeviceCall> calls) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !passing_ || *passing_ > 0; });
    if (passing_) --*passing_;
    --held_;
    ++runs_;
  }
  return cpu_.Run(calls);
}

void GatedDevice::Close(int passing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  passing_ = passing;
}

void GatedDevice::Open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  passing_ = std::nullopt;
  changed_.notify_all();
}

bool GatedDevice::WaitForHeld(int count) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return held_ >= count; });
}

int GatedDevice::runs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return runs_;
}

}  // namespace opserve::testing
