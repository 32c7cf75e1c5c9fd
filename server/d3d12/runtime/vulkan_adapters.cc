#include "server/d3d12/runtime/vulkan_adapters.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {
namespace {

// The functions of an instance that enumeration needs.
struct Functions {
  PFN_vkEnumeratePhysicalDevices enumerate = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties memory = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;  // optional
};

// vkGetInstanceProcAddr.
using GetInstanceProcAddr = std::remove_pointer_t<PFN_vkGetInstanceProcAddr>;

absl::StatusOr<Functions> FunctionsOf(const SharedLibrary& vulkan, VkInstance instance) {
  GetInstanceProcAddr* get = nullptr;
  if (absl::Status found = vulkan.Find("vkGetInstanceProcAddr", get); !found.ok()) return found;
  Functions functions;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(instance, name));
    return function != nullptr;
  };
  if (!find("vkEnumeratePhysicalDevices", functions.enumerate) ||
      !find("vkGetPhysicalDeviceProperties", functions.properties) ||
      !find("vkGetPhysicalDeviceMemoryProperties", functions.memory)) {
    return absl::InternalError("The Vulkan instance cannot enumerate its devices.");
  }
  find("vkGetPhysicalDeviceProperties2KHR", functions.properties2);
  return functions;
}

std::string DriverOf(const Functions& functions, VkPhysicalDevice device,
                     const VkPhysicalDeviceProperties& properties) {
  if (functions.properties2 != nullptr && properties.apiVersion >= VK_API_VERSION_1_2) {
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceProperties2 properties2{};
    properties2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties2.pNext = &driver;
    functions.properties2(device, &properties2);
    return absl::StrCat(driver.driverName, " ", driver.driverInfo);
  }
  return absl::StrCat("Vulkan driver ", properties.driverVersion);
}

uint64_t MemoryOf(const Functions& functions, VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory{};
  functions.memory(device, &memory);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) bytes += heap.size;
  }
  return bytes;
}

AdapterInfo Describe(const Functions& functions, VkPhysicalDevice device, int index) {
  VkPhysicalDeviceProperties properties{};
  functions.properties(device, &properties);
  AdapterInfo info;
  info.index = index;
  info.name = properties.deviceName;
  info.driver = DriverOf(functions, device, properties);
  info.vendor_id = properties.vendorID;
  info.device_id = properties.deviceID;
  info.is_software = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info.memory_bytes = MemoryOf(functions, device);
  // libvkd3d binds raw buffers as texel buffers of 32-bit words.
  info.max_buffer_bytes = uint64_t{properties.limits.maxTexelBufferElements} * sizeof(uint32_t);
  return info;
}

}  // namespace

absl::Status CheckVulkanDriver(const SharedLibrary& vulkan) {
  GetInstanceProcAddr* get = nullptr;
  if (absl::Status found = vulkan.Find("vkGetInstanceProcAddr", get); !found.ok()) return found;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  if (create == nullptr) return absl::InternalError("The Vulkan loader has no vkCreateInstance.");
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  VkInstance instance = nullptr;
  const VkResult result = create(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return absl::NotFoundError("Vulkan has no driver on this machine.");
  }
  if (result != VK_SUCCESS) {
    return absl::InternalError(absl::StrCat("vkCreateInstance failed: ", result, "."));
  }
  const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(get(instance, "vkDestroyInstance"));
  destroy(instance, nullptr);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<VulkanAdapter>> EnumerateVulkanAdapters(const SharedLibrary& vulkan,
                                                                   void* instance) {
  auto* const vk_instance = static_cast<VkInstance>(instance);
  const absl::StatusOr<Functions> functions = FunctionsOf(vulkan, vk_instance);
  if (!functions.ok()) return functions.status();
  uint32_t count = 0;
  functions->enumerate(vk_instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  // VK_INCOMPLETE, a positive number, tells that a device has appeared in between.
  if (functions->enumerate(vk_instance, &count, devices.data()) < 0) {
    return absl::InternalError("The Vulkan driver cannot enumerate its devices.");
  }
  devices.resize(count);
  std::vector<VulkanAdapter> adapters;
  for (VkPhysicalDevice device : devices) {
    adapters.push_back({Describe(*functions, device, static_cast<int>(adapters.size())), device});
  }
  return adapters;
}

}  // namespace opserve::d3d12
