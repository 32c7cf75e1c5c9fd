// File: server/d3d12/runtime/vulkan_watch.h
//
// What Vulkan says to libvkd3d 1.2, which keeps it to itself. So libvkd3d is given functions of
// Vulkan that note it:
//   recording   makes views and descriptor sets for what a dispatch binds; where there is no memory
//               for one, libvkd3d logs that and goes on, and the dispatch would read or write
//               something else
//   submitting  a submission that is refused is logged, too, and its fence signalled all the same;
//               where it makes a device, it waits for that one for ever, so it is told that it
//               has ended. Where there is no memory for a semaphore, no queue waits for another one
//   waiting     a device that is lost is logged, and the wait begins again at once, for ever; so
//               fences of a lost device end here, which is when the driver has given them up.
//               The end of a submission may be told before that of an earlier one, which takes it
//               back; so they end in their order

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

// A vkGetInstanceProcAddr whose functions are those of `vulkan`, the Vulkan loader, but watched.
// They serve for one loader per process. Tests can make them fail: they ask the fault injector
// (hresult.h) for vk.Semaphore, vk.BufferView, vk.DescriptorPool and vk.DescriptorSets.
absl::StatusOr<void*> WatchVulkan(const SharedLibrary& vulkan);

// How often a function that records or submits failed in the calling thread; libvkd3d calls them in
// the thread that does so.
uint64_t UntoldVulkanFailures();

// UNAVAILABLE where a function has said that `device`, a VkDevice, is lost. Before a fence of such
// a device ends. Thread-safe.
absl::Status VulkanLossOf(void* device);

// Waits until the driver is at work on nothing of `device`, a VkDevice that no other thread submits
// to, or says that it is lost; for ever where it does neither.
void WaitForVulkanDevice(void* device);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VULKAN_WATCH_H_
