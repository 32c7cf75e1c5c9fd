#include "tests/integration/gated_device.h"

#include <chrono>

#include "proto/base/mutex.h"

namespace opserve::testing {

absl::Status GatedDevice::Run(std::span<const DeviceCall> calls) {
  {
    const MutexLock lock(mutex_);
    ++held_;
    changed_.NotifyAll();
    while (passing_ && *passing_ == 0) changed_.Wait(mutex_);
    if (passing_) --*passing_;
    --held_;
    ++runs_;
  }
  return cpu_.Run(calls);
}

void GatedDevice::Close(int passing) {
  const MutexLock lock(mutex_);
  passing_ = passing;
}

void GatedDevice::Open() {
  const MutexLock lock(mutex_);
  passing_ = std::nullopt;
  changed_.NotifyAll();
}

bool GatedDevice::WaitForHeld(int count) const {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const MutexLock lock(mutex_);
  while (held_ < count) {
    if (!changed_.WaitUntil(mutex_, limit)) return held_ >= count;
  }
  return true;
}

int GatedDevice::runs() const {
  const MutexLock lock(mutex_);
  return runs_;
}

}  // namespace opserve::testing
