#include "server/d3d12/runtime/vulkan_watch.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/vulkan_losses.h"

namespace opserve::d3d12 {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// Between two attempts of a wait that the driver has no memory for.
constexpr std::chrono::milliseconds kPause{10};
// How long a fence is asked before a thread sleeps until it ends. To be woken by a driver takes as
// long as a small call.
constexpr std::chrono::microseconds kAwake{100};

thread_local uint64_t untold_failures = 0;
// Whether the calling thread has waited for fences, and since then has submitted nothing and found
// none that was not ready.
thread_local bool may_ask_fences = false;

// That of the last submission of the calling thread that was refused for want of memory.
thread_local VkFence refused_fence = VK_NULL_HANDLE;

// Never destroyed: libvkd3d's threads may outlive main().
VulkanLosses& Losses() {
  static VulkanLosses& losses = *new VulkanLosses;
  return losses;
}

// The loader's own function of a name, which serves for all devices.
template <class Function>
struct LoaderFunction {
  std::atomic<PFN_vkVoidFunction> address = nullptr;

  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return reinterpret_cast<Function>(address.load())(arguments...);
  }
};

std::atomic<PFN_vkGetInstanceProcAddr> get_instance_proc_addr = nullptr;
LoaderFunction<PFN_vkGetDeviceProcAddr> get_device_proc_addr;
LoaderFunction<PFN_vkCreateDevice> create_device;
LoaderFunction<PFN_vkDestroyDevice> destroy_device;
LoaderFunction<PFN_vkGetDeviceQueue> get_device_queue;
LoaderFunction<PFN_vkCreateSemaphore> create_semaphore;
LoaderFunction<PFN_vkCreateBufferView> create_buffer_view;
LoaderFunction<PFN_vkCreateDescriptorPool> create_descriptor_pool;
LoaderFunction<PFN_vkAllocateDescriptorSets> allocate_descriptor_sets;
LoaderFunction<PFN_vkQueueSubmit> queue_submit;
LoaderFunction<PFN_vkQueueWaitIdle> queue_wait_idle;
LoaderFunction<PFN_vkDeviceWaitIdle> device_wait_idle;
LoaderFunction<PFN_vkWaitForFences> wait_for_fences;
LoaderFunction<PFN_vkGetFenceStatus> get_fence_status;

VkResult CreateDevice(VkPhysicalDevice adapter, const VkDeviceCreateInfo* info,
                      const VkAllocationCallbacks* allocator, VkDevice* device) {
  const VkResult result = create_device(adapter, info, allocator, device);
  if (result == VK_SUCCESS) Losses().AddDevice(*device);
  return result;
}

void DestroyDevice(VkDevice device, const VkAllocationCallbacks* allocator) {
  Losses().RemoveDevice(device);
  destroy_device(device, allocator);
}

void GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) {
  get_device_queue(device, family, index, queue);
  Losses().AddQueue(device, *queue);
}

// Makes a call, or has it fail as a test wants, and counts a failure. A pool that has nothing left
// is none: libvkd3d takes another one.
template <class Call>
VkResult CountFailure(absl::string_view name, const Call& call) {
  const std::optional<int32_t> injected = InjectedFault(name);
  const VkResult result = injected ? static_cast<VkResult>(*injected) : call();
  if (result < 0 && result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL) {
    ++untold_failures;
  }
  return result;
}

VkResult CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo* info,
                         const VkAllocationCallbacks* allocator, VkSemaphore* semaphore) {
  return CountFailure("vk.Semaphore",
                      [&] { return create_semaphore(device, info, allocator, semaphore); });
}

VkResult CreateBufferView(VkDevice device, const VkBufferViewCreateInfo* info,
                          const VkAllocationCallbacks* allocator, VkBufferView* view) {
  return CountFailure("vk.BufferView",
                      [&] { return create_buffer_view(device, info, allocator, view); });
}

VkResult CreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo* info,
                              const VkAllocationCallbacks* allocator, VkDescriptorPool* pool) {
  return CountFailure("vk.DescriptorPool",
                      [&] { return create_descriptor_pool(device, info, allocator, pool); });
}

VkResult AllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo* info,
                                VkDescriptorSet* sets) {
  return CountFailure("vk.DescriptorSets",
                      [&] { return allocate_descriptor_sets(device, info, sets); });
}

// Passes the result of `function` on.
VkResult NoteLoss(VkDevice device, absl::string_view function, VkResult result) {
  if (result == VK_ERROR_DEVICE_LOST) Losses().Note(device, function);
  return result;
}

bool IsLost(VkDevice device) { return !Losses().LossOf(device).ok(); }

// Nothing signals the fence of a submission that was refused; those of a lost device the driver
// gives up. A fence may have the handle of one that was destroyed.
void NoteSubmission(VkFence fence, VkResult result) {
  if (fence == VK_NULL_HANDLE) return;
  if (result < 0 && result != VK_ERROR_DEVICE_LOST) {
    refused_fence = fence;
  } else if (fence == refused_fence) {
    refused_fence = VK_NULL_HANDLE;
  }
}

VkResult QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  // The thread that libvkd3d hears of fences in submits nothing; one that made a device does.
  may_ask_fences = false;
  auto* const device = static_cast<VkDevice>(Losses().DeviceOf(queue));
  // What would be submitted now would only have to be waited for.
  if (IsLost(device)) return VK_ERROR_DEVICE_LOST;
  const VkResult result =
      NoteLoss(device, "vkQueueSubmit", queue_submit(queue, count, submits, fence));
  if (result < 0) ++untold_failures;
  NoteSubmission(fence, result);
  return result;
}

VkResult QueueWaitIdle(VkQueue queue) {
  auto* const device = static_cast<VkDevice>(Losses().DeviceOf(queue));
  return NoteLoss(device, "vkQueueWaitIdle", queue_wait_idle(queue));
}

// Asks for kAwake before it sleeps. Other threads that have something to do go first.
VkResult WaitForFence(VkDevice device, VkFence fence, VkBool32 all, uint64_t timeout) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (std::chrono::steady_clock::now() < end) {
    const VkResult result = wait_for_fences(device, 1, &fence, all, 0);
    if (result != VK_TIMEOUT) return result;
    std::this_thread::yield();
  }
  return wait_for_fences(device, 1, &fence, all, timeout);
}

// What libvkd3d's thread waits with, for any of its fences, before it asks each of them. It hears
// of none before the first one has ended, so it waits for that alone: another one, of another
// queue, may have ended long before, and the thread would ask again and again. A thread that makes
// a device waits with it, too, for what it has submitted, or would have; it leaks where that fails,
// so who has it made is told by UntoldVulkanFailures.
VkResult WaitForFences(VkDevice device, uint32_t /*count*/, const VkFence* fences, VkBool32 all,
                       uint64_t timeout) {
  may_ask_fences = true;
  if (fences[0] == refused_fence) {
    refused_fence = VK_NULL_HANDLE;
    return VK_SUCCESS;
  }
  for (;;) {
    const VkResult result =
        NoteLoss(device, "vkWaitForFences", WaitForFence(device, fences[0], all, timeout));
    if (result >= 0) return result;
    if (result == VK_ERROR_DEVICE_LOST) return VK_SUCCESS;
    // Short of memory, which passes. Who makes a device would destroy what it has submitted.
    std::this_thread::sleep_for(kPause);
  }
}

// What the driver says of a fence. Vulkan takes a result of VK_ERROR_DEVICE_LOST for the end of
// what is asked for, and wants the driver to give it in finite time. Until then a lost device may
// say that a fence is not ready.
VkResult AskFence(VkDevice device, VkFence fence) {
  const VkResult result = NoteLoss(device, "vkGetFenceStatus", get_fence_status(device, fence));
  if (result != VK_SUCCESS && IsLost(device)) {
    wait_for_fences(device, 1, &fence, VK_TRUE, kNoLimit);
    return VK_SUCCESS;
  }
  if (result >= 0) return result;
  // Short of memory, which passes. libvkd3d asks again at once.
  std::this_thread::sleep_for(kPause);
  return VK_NOT_READY;
}

// libvkd3d sets a fence of Direct3D to the value of the submission whose end it hears of last, so
// it must hear of them in their order, or the fence falls back and nobody hears of the later one
// again. It asks in the thread that submits, where earlier ones may still be unheard of, and in one
// of its own from the oldest to the newest, where an older one may end after it was asked.
VkResult GetFenceStatus(VkDevice device, VkFence fence) {
  if (!may_ask_fences) return VK_NOT_READY;
  const VkResult result = AskFence(device, fence);
  may_ask_fences = result == VK_SUCCESS;
  return result;
}

// A function that stands before one of the loader's, if any does.
struct WatchedFunction {
  absl::string_view name;
  std::atomic<PFN_vkVoidFunction>& loader;
  PFN_vkVoidFunction watch;
};

template <class Function>
WatchedFunction Watched(absl::string_view name, LoaderFunction<Function>& loader, Function watch) {
  return {name, loader.address, reinterpret_cast<PFN_vkVoidFunction>(watch)};
}

PFN_vkVoidFunction FindDeviceFunction(VkDevice device, const char* name);

const auto& WatchedFunctions() {
  static const std::array kFunctions = {
      Watched("vkGetDeviceProcAddr", get_device_proc_addr, &FindDeviceFunction),
      Watched("vkCreateDevice", create_device, &CreateDevice),
      Watched("vkDestroyDevice", destroy_device, &DestroyDevice),
      Watched("vkGetDeviceQueue", get_device_queue, &GetDeviceQueue),
      Watched("vkCreateSemaphore", create_semaphore, &CreateSemaphore),
      Watched("vkCreateBufferView", create_buffer_view, &CreateBufferView),
      Watched("vkCreateDescriptorPool", create_descriptor_pool, &CreateDescriptorPool),
      Watched("vkAllocateDescriptorSets", allocate_descriptor_sets, &AllocateDescriptorSets),
      Watched("vkQueueSubmit", queue_submit, &QueueSubmit),
      Watched("vkQueueWaitIdle", queue_wait_idle, &QueueWaitIdle),
      Watched<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle", device_wait_idle, nullptr),
      Watched("vkWaitForFences", wait_for_fences, &WaitForFences),
      Watched("vkGetFenceStatus", get_fence_status, &GetFenceStatus),
  };
  return kFunctions;
}

// The function that stands before one of the loader's; nullptr: there is none.
PFN_vkVoidFunction FindWatch(absl::string_view name) {
  for (const WatchedFunction& function : WatchedFunctions()) {
    if (function.name == name) return function.watch;
  }
  return nullptr;
}

PFN_vkVoidFunction FindDeviceFunction(VkDevice device, const char* name) {
  const PFN_vkVoidFunction watch = FindWatch(name);
  return watch != nullptr ? watch : get_device_proc_addr(device, name);
}

// Whether the loader has all that is watched.
bool FindLoaderFunctions(VkInstance instance) {
  for (const WatchedFunction& function : WatchedFunctions()) {
    function.loader = get_instance_proc_addr.load()(instance, function.name.data());
    if (function.loader == nullptr) return false;
  }
  return true;
}

PFN_vkVoidFunction FindInstanceFunction(VkInstance instance, const char* name) {
  // libvkd3d asks for it with the functions of each instance, and makes none without it.
  if (absl::string_view(name) == "vkGetDeviceProcAddr" && !FindLoaderFunctions(instance)) {
    return nullptr;
  }
  const PFN_vkVoidFunction watch = FindWatch(name);
  return watch != nullptr ? watch : get_instance_proc_addr.load()(instance, name);
}

}  // namespace

absl::StatusOr<void*> WatchVulkan(const SharedLibrary& vulkan) {
  std::remove_pointer_t<PFN_vkGetInstanceProcAddr>* get = nullptr;
  OPSERVE_RETURN_IF_ERROR(vulkan.Find("vkGetInstanceProcAddr", get));
  get_instance_proc_addr = get;
  return reinterpret_cast<void*>(&FindInstanceFunction);
}

uint64_t UntoldVulkanFailures() { return untold_failures; }

absl::Status VulkanLossOf(void* device) { return Losses().LossOf(device); }

void WaitForVulkanDevice(void* device) {
  NoteLoss(static_cast<VkDevice>(device), "vkDeviceWaitIdle",
           device_wait_idle(static_cast<VkDevice>(device)));
}

}  // namespace opserve::d3d12
