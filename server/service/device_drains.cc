#include "server/service/device_drains.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

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
    if (const Finish finish = drains_.Remove(call_)) {
      finish(call_, absl::CancelledError("The call was given up."));
    }
  }

 private:
  UnaryCall& call_;
  DeviceDrains& drains_;
};

void DeviceDrains::Wait(UnaryCall& call, const DevicePool& pool, const std::string& device,
                        Finish finish) {
  call.Keep<Waiter>(*this);
  {
    MutexLock lock(mutex_);
    waiting_.push_back({&call, &pool, device, std::move(finish)});
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
  for (const Entry& entry : idle) entry.finish(*entry.call, absl::OkStatus());
}

DeviceDrains::Finish DeviceDrains::Remove(const UnaryCall& call) {
  MutexLock lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&call](const Entry& entry) { return entry.call == &call; });
  if (found == waiting_.end()) return nullptr;
  Finish finish = std::move(found->finish);
  waiting_.erase(found);
  return finish;
}

}  // namespace opserve
