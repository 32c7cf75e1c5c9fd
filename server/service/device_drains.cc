#include "server/service/device_drains.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "opserve/v1/admin_service.pb.h"

namespace opserve {
namespace {

bool IsIdle(const std::vector<DeviceStatus>& devices, const std::string& device) {
  return std::any_of(devices.begin(), devices.end(), [&device](const DeviceStatus& status) {
    return status.profile.name == device && status.is_idle;
  });
}

}  // namespace

class DeviceDrains::Waiter final : public CallHandler {
 public:
  Waiter(UnaryCall& call, DeviceDrains& drains) : call_(call), drains_(drains) {}

  void OnCancel() override {
    if (drains_.Remove(call_)) call_.Finish(absl::CancelledError("The call was given up."));
  }

 private:
  UnaryCall& call_;
  DeviceDrains& drains_;
};

void DeviceDrains::Wait(UnaryCall& call, const DevicePool& pool, const std::string& device) {
  call.Keep<Waiter>(*this);
  {
    MutexLock lock(mutex_);
    waiting_.push_back({&call, &pool, device});
  }
  // The device may have become idle before.
  FinishIdle();
}

void DeviceDrains::Update() { FinishIdle(); }

void DeviceDrains::FinishIdle() {
  const DevicePool* pool = nullptr;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) return;
    pool = waiting_.front().pool;
  }
  // A device that is set aside and idle stays so.
  const std::vector<DeviceStatus> devices = pool->Status();
  std::list<Entry> idle;
  {
    MutexLock lock(mutex_);
    for (auto entry = waiting_.begin(); entry != waiting_.end();) {
      const auto next = std::next(entry);
      if (IsIdle(devices, entry->device)) idle.splice(idle.end(), waiting_, entry);
      entry = next;
    }
  }
  for (const Entry& entry : idle) entry.call->Finish(absl::OkStatus(), v1::DrainDeviceResponse());
}

bool DeviceDrains::Remove(const UnaryCall& call) {
  MutexLock lock(mutex_);
  return std::erase_if(waiting_, [&call](const Entry& entry) { return entry.call == &call; }) > 0;
}

}  // namespace opserve
