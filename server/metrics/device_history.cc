#include "server/metrics/device_history.h"

namespace opserve {
namespace {

bool IsFault(DeviceState state) {
  return state == DeviceState::kSuspect || state == DeviceState::kLost ||
         state == DeviceState::kQuarantined;
}

}  // namespace

void DeviceHistory::Attach(const DevicePool& pool) {
  {
    MutexLock lock(mutex_);
    pool_ = &pool;
  }
  Update();
}

void DeviceHistory::Detach() {
  MutexLock lock(mutex_);
  pool_ = nullptr;
  while (asking_ > 0) idle_.Wait(mutex_);
}

void DeviceHistory::Update() {
  const DevicePool* pool = nullptr;
  {
    MutexLock lock(mutex_);
    if (pool_ == nullptr) return;
    pool = pool_;
    ++asking_;
  }
  Take(pool->Status());
  MutexLock lock(mutex_);
  if (--asking_ == 0) idle_.NotifyAll();
}

void DeviceHistory::Take(const std::vector<DeviceStatus>& devices) {
  const absl::Time now = now_();
  MutexLock lock(mutex_);
  for (const DeviceStatus& device : devices) {
    Seen& seen = seen_[device.profile.name];
    const bool is_new = seen.state != device.state || seen.reason != device.reason;
    if (is_new && IsFault(device.state)) {
      faults_.push_front({now, device.profile.name, device.state, device.reason});
      if (faults_.size() > kMostFaults) faults_.pop_back();
    }
    seen = {device.state, device.reason};
  }
}

std::vector<DeviceFault> DeviceHistory::Latest() const {
  MutexLock lock(mutex_);
  return {faults_.begin(), faults_.end()};
}

}  // namespace opserve
