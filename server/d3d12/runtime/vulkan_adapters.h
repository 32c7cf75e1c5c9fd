// File: server/d3d12/runtime/vulkan_adapters.h
//
// The adapters that a Vulkan instance sees. Direct3D 12 over Vulkan has no enumeration of its own.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_ADAPTERS_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_ADAPTERS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/runtime/adapter_info.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

// NOT_FOUND where Vulkan has no driver on this machine, which libvkd3d would not tell from other
// failures. `vulkan`: the Vulkan loader.
absl::Status CheckVulkanDriver(const SharedLibrary& vulkan);

struct VulkanAdapter {
  AdapterInfo info;
  void* physical_device = nullptr;  // a VkPhysicalDevice; lives as long as the instance
};

struct VulkanAdapters {
  // In the driver's order.
  std::vector<VulkanAdapter> usable;
  // Why others are left out: their names, and what they lack.
  std::vector<absl::Status> left_out;
};

// All adapters of `instance`, a VkInstance.
absl::StatusOr<VulkanAdapters> EnumerateVulkanAdapters(const SharedLibrary& vulkan, void* instance);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_ADAPTERS_H_
