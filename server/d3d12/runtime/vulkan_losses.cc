#include "server/d3d12/runtime/vulkan_losses.h"

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {

void VulkanLosses::AddDevice(void* device) {
  MutexLock lock(mutex_);
  devices_[device] = {};
}

void VulkanLosses::AddQueue(void* device, void* queue) {
  MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return;
  if (device_of_queue_.insert_or_assign(queue, device).second) {
    found->second.queues.push_back(queue);
  }
}

void VulkanLosses::RemoveDevice(void* device) {
  MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return;
  for (void* const queue : found->second.queues) device_of_queue_.erase(queue);
  devices_.erase(found);
}

void* VulkanLosses::DeviceOf(void* queue) const {
  MutexLock lock(mutex_);
  const auto found = device_of_queue_.find(queue);
  return found == device_of_queue_.end() ? nullptr : found->second;
}

void VulkanLosses::Note(void* device, absl::string_view function) {
  MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  if (found != devices_.end() && found->second.told_by.empty()) {
    found->second.told_by = std::string(function);
  }
}

absl::Status VulkanLosses::LossOf(void* device) const {
  MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end() || found->second.told_by.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(found->second.told_by, ": VK_ERROR_DEVICE_LOST."));
}

}  // namespace opserve::d3d12
