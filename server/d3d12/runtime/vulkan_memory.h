// File: server/d3d12/runtime/vulkan_memory.h
//
// How much memory Vulkan's drivers say there is now. Internal to server/d3d12/runtime: Vulkan's
// types are opaque pointers here.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_MEMORY_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_MEMORY_H_

#include <optional>
#include <set>
#include <vector>

#include "server/d3d12/runtime/memory_report.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

// Thread-safe. A value type.
class VulkanMemory {
 public:
  // Knows no memory.
  VulkanMemory() = default;

  // `vulkan`: the loader, which must stay loaded; `instance`: a VkInstance, which must outlive the
  // object; `physical_devices`: VkPhysicalDevices of it, whose extensions are listed here and never
  // again.
  VulkanMemory(const SharedLibrary& vulkan, void* instance,
               const std::vector<void*>& physical_devices);

  // Of the heaps that a VkPhysicalDevice, one of the above, has to itself, by VK_EXT_memory_budget;
  // nullopt where the driver has no such extension.
  std::optional<MemoryReport> ReportOf(void* physical_device) const;

 private:
  // PFN_vkGetPhysicalDeviceMemoryProperties2; nullptr where the instance has none.
  void* memory_properties_ = nullptr;
  // The devices that have the extension.
  std::set<void*> with_budgets_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_MEMORY_H_
