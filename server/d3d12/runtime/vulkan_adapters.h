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

// All adapters of `instance`, a VkInstance, in the driver's order.
absl::StatusOr<std::vector<VulkanAdapter>> EnumerateVulkanAdapters(const SharedLibrary& vulkan,
                                                                   void* instance);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_ADAPTERS_H_
