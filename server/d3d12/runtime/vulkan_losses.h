// File: server/d3d12/runtime/vulkan_losses.h
//
// Which devices of Vulkan are lost. A driver tells it as the result of whatever is called next.
// libvkd3d 1.2 logs such a result and tells nobody, so it is noted here. Knows nothing of what a
// handle of Vulkan is.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_LOSSES_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_LOSSES_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"

namespace opserve::d3d12 {

// Handles may be used again once they are removed. Thread-safe.
class VulkanLosses {
 public:
  // A device that was made.
  void AddDevice(void* device);
  // A queue of a device; a queue may be added more than once.
  void AddQueue(void* device, void* queue);
  // A device that is destroyed, with its queues.
  void RemoveDevice(void* device);

  // The device of a queue; nullptr where that was not added.
  void* DeviceOf(void* queue) const;

  // `function` has said that the device is lost; of several the first counts. No effect where the
  // device was not added.
  void Note(void* device, absl::string_view function);
  // UNAVAILABLE with the function that said that the device is lost; OK where none has.
  absl::Status LossOf(void* device) const;

 private:
  struct KnownDevice {
    std::vector<void*> queues;
    // Empty where it is not lost.
    std::string told_by;
  };

  mutable Mutex mutex_;
  std::unordered_map<void*, KnownDevice> devices_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<void*, void*> device_of_queue_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_LOSSES_H_
