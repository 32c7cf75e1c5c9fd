#include "server/service/device_drains.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

// How the wait for a device ends; nullopt: it goes on.
std::optional<absl::Status> EndOfWait(const std::vector<DeviceStatus>& devices,
                                      const std::string& device) {
  const auto found =
      std::find_if(devices.begin(), devices.end(),
                   [&device](const DeviceStatus& status) { return status.profile.name == device; });
  if (found == devices.end()) return std::nullopt;
  // It takes jobs again, so that it may never be idle.
  if (found->state != DeviceState::kSetAside) {
    return MakeError(ErrorReason::DEVICE_RESUMED,
                     absl::StrCat("The device ", device, " was resumed before it was idle."));
  }
  if (!found->is_idle) return std::nullopt;
  return absl::OkStatus();
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
    waiting_.push_back({next_number_++, &call, &pool, device, std::move(finish), {}});
  }
  // The device may have become idle, or been resumed, before.
  Update();
}

void DeviceDrains::Update() {
  const DevicePool* pool = nullptr;
  uint64_t next_number = 0;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) return;
    pool = waiting_.front().pool;
    next_number = next_number_;
  }
  const std::vector<DeviceStatus> devices = pool->Status();
  std::list<Entry> ended;
  {
    MutexLock lock(mutex_);
    // Those that have come since then look for themselves: their device may have been set aside
    // after its state was asked for.
    for (auto entry = waiting_.begin(); entry != waiting_.end() && entry->number < next_number;) {
      const auto next = std::next(entry);
      if (std::optional<absl::Status> end = EndOfWait(devices, entry->device)) {
        entry->end = *std::move(end);
        ended.splice(ended.end(), waiting_, entry);
      }
      entry = next;
    }
  }
  for (const Entry& entry : ended) {
    entry.call->Guard([&entry] { entry.finish(*entry.call, entry.end); });
  }
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
