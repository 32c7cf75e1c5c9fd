#include "server/d3d12/runtime/vulkan_watch.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <atomic>
#include <optional>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

thread_local uint64_t untold_failures = 0;

// The loader's own functions. Those of devices are the ones that work for every device.
struct LoaderFunctions {
  std::atomic<PFN_vkGetInstanceProcAddr> get_instance_proc_addr = nullptr;
  std::atomic<PFN_vkGetDeviceProcAddr> get_device_proc_addr = nullptr;
  std::atomic<PFN_vkCreateBufferView> create_buffer_view = nullptr;
  std::atomic<PFN_vkCreateDescriptorPool> create_descriptor_pool = nullptr;
  std::atomic<PFN_vkAllocateDescriptorSets> allocate_descriptor_sets = nullptr;
};
LoaderFunctions loader;

// Makes a call, or has it fail as a test wants, and counts a failure. A pool that has nothing left
// is none: libvkd3d takes another one.
template <class Call>
VkResult Watch(absl::string_view name, const Call& call) {
  const std::optional<int32_t> injected = InjectedFault(name);
  const VkResult result = injected ? static_cast<VkResult>(*injected) : call();
  if (result < 0 && result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL) {
    ++untold_failures;
  }
  return result;
}

VkResult CreateBufferView(VkDevice device, const VkBufferViewCreateInfo* info,
                          const VkAllocationCallbacks* allocator, VkBufferView* view) {
  return Watch("vk.BufferView",
               [&] { return loader.create_buffer_view.load()(device, info, allocator, view); });
}

VkResult CreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo* info,
                              const VkAllocationCallbacks* allocator, VkDescriptorPool* pool) {
  return Watch("vk.DescriptorPool",
               [&] { return loader.create_descriptor_pool.load()(device, info, allocator, pool); });
}

VkResult AllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo* info,
                                VkDescriptorSet* sets) {
  return Watch("vk.DescriptorSets",
               [&] { return loader.allocate_descriptor_sets.load()(device, info, sets); });
}

// The function that stands before one of a device; nullptr: there is none.
PFN_vkVoidFunction WatchedFunction(absl::string_view name) {
  if (name == "vkCreateBufferView") {
    return reinterpret_cast<PFN_vkVoidFunction>(&CreateBufferView);
  }
  if (name == "vkCreateDescriptorPool") {
    return reinterpret_cast<PFN_vkVoidFunction>(&CreateDescriptorPool);
  }
  if (name == "vkAllocateDescriptorSets") {
    return reinterpret_cast<PFN_vkVoidFunction>(&AllocateDescriptorSets);
  }
  return nullptr;
}

PFN_vkVoidFunction FindDeviceFunction(VkDevice device, const char* name) {
  const PFN_vkVoidFunction watched = WatchedFunction(name);
  return watched != nullptr ? watched : loader.get_device_proc_addr.load()(device, name);
}

PFN_vkVoidFunction FindInstanceFunction(VkInstance instance, const char* name) {
  const auto find = [instance](const char* function, auto& found) {
    const PFN_vkVoidFunction address = loader.get_instance_proc_addr.load()(instance, function);
    found =
        reinterpret_cast<typename std::remove_reference_t<decltype(found)>::value_type>(address);
    return address != nullptr;
  };
  if (absl::string_view(name) != "vkGetDeviceProcAddr") {
    return loader.get_instance_proc_addr.load()(instance, name);
  }
  if (!find("vkCreateBufferView", loader.create_buffer_view) ||
      !find("vkCreateDescriptorPool", loader.create_descriptor_pool) ||
      !find("vkAllocateDescriptorSets", loader.allocate_descriptor_sets) ||
      !find(name, loader.get_device_proc_addr)) {
    // libvkd3d makes no instance without it.
    return nullptr;
  }
  return reinterpret_cast<PFN_vkVoidFunction>(&FindDeviceFunction);
}

}  // namespace

absl::StatusOr<void*> WatchVulkan(const SharedLibrary& vulkan) {
  std::remove_pointer_t<PFN_vkGetInstanceProcAddr>* get = nullptr;
  OPSERVE_RETURN_IF_ERROR(vulkan.Find("vkGetInstanceProcAddr", get));
  loader.get_instance_proc_addr = get;
  return reinterpret_cast<void*>(&FindInstanceFunction);
}

uint64_t UntoldVulkanFailures() { return untold_failures; }

}  // namespace opserve::d3d12
