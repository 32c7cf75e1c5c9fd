// File: server/d3d12/runtime/vulkan_watch.h
//
// Failures of Vulkan that libvkd3d 1.2 keeps to itself. While a command list is recorded it makes
// views and descriptor sets for what a dispatch binds; where there is no memory for one, it logs
// that and goes on, and the dispatch would read or write something else. So libvkd3d is given
// functions of Vulkan that count their failures.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

// A vkGetInstanceProcAddr whose functions are those of `vulkan`, the Vulkan loader, but count. They
// serve for one loader per process. Tests can make them fail: they ask the fault injector
// (hresult.h) for vk.BufferView, vk.DescriptorPool and vk.DescriptorSets.
absl::StatusOr<void*> WatchVulkan(const SharedLibrary& vulkan);

// How often such a function failed in the calling thread; libvkd3d calls them in the thread that
// records.
uint64_t UntoldVulkanFailures();

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_
