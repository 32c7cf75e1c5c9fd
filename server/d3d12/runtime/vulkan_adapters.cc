#include "server/d3d12/runtime/vulkan_adapters.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {
namespace {

// What Vulkan promises of every adapter, in texels of a word.
constexpr uint64_t kLeastBufferBytes = uint64_t{65536} * sizeof(uint32_t);
// No adapter has more, whatever it says.
constexpr uint32_t kMostQueueFamilies = 256;

// The functions of an instance that enumeration needs.
struct Functions {
  PFN_vkEnumeratePhysicalDevices enumerate = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties memory = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties queues = nullptr;
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
      !find("vkGetPhysicalDeviceMemoryProperties", functions.memory) ||
      !find("vkGetPhysicalDeviceQueueFamilyProperties", functions.queues)) {
    return absl::InternalError("The Vulkan instance cannot enumerate its devices.");
  }
  find("vkGetPhysicalDeviceProperties2KHR", functions.properties2);
  return functions;
}

// A text in an array, which it may fill.
template <size_t kSize>
std::string Text(const char (&array)[kSize]) {
  return {array, strnlen(array, kSize)};
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
    return absl::StrCat(Text(driver.driverName), " ", Text(driver.driverInfo));
  }
  return absl::StrCat("Vulkan driver ", properties.driverVersion);
}

uint64_t MemoryOf(const Functions& functions, VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory{};
  functions.memory(device, &memory);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < std::min(memory.memoryHeapCount, VK_MAX_MEMORY_HEAPS); ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    bytes += std::min(heap.size, std::numeric_limits<uint64_t>::max() - bytes);
  }
  return bytes;
}

// libvkd3d makes no device without such a queue.
bool HasQueue(const Functions& functions, VkPhysicalDevice device) {
  uint32_t count = 0;
  functions.queues(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(std::min(count, kMostQueueFamilies));
  count = static_cast<uint32_t>(families.size());
  functions.queues(device, &count, families.data());
  constexpr VkQueueFlags kNeeded = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  return std::any_of(families.begin(), families.end(), [](const VkQueueFamilyProperties& family) {
    return family.queueCount > 0 && (family.queueFlags & kNeeded) == kNeeded;
  });
}

// OK, or what the adapter lacks.
absl::Status CheckUse(const Functions& functions, VkPhysicalDevice device,
                      const AdapterInfo& info) {
  if (!HasQueue(functions, device)) {
    return absl::UnimplementedError(
        absl::StrCat(info.name, " has no queue for graphics and computing."));
  }
  if (info.max_buffer_bytes < kLeastBufferBytes) {
    return absl::UnimplementedError(
        absl::StrCat(info.name, " has buffers of at most ", info.max_buffer_bytes, " bytes."));
  }
  return absl::OkStatus();
}

AdapterInfo Describe(const Functions& functions, VkPhysicalDevice device, int index) {
  VkPhysicalDeviceProperties properties{};
  functions.properties(device, &properties);
  AdapterInfo info;
  info.index = index;
  info.name = Text(properties.deviceName);
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

absl::StatusOr<VulkanAdapters> EnumerateVulkanAdapters(const SharedLibrary& vulkan,
                                                       void* instance) {
  auto* const vk_instance = static_cast<VkInstance>(instance);
  const absl::StatusOr<Functions> functions = FunctionsOf(vulkan, vk_instance);
  if (!functions.ok()) return functions.status();
  uint32_t count = 0;
  VkResult result = functions->enumerate(vk_instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(result == VK_SUCCESS ? count : 0);
  // VK_INCOMPLETE, a positive number, tells that a device has appeared in between.
  if (!devices.empty()) result = functions->enumerate(vk_instance, &count, devices.data());
  if (result < 0) return absl::InternalError("The Vulkan driver cannot enumerate its devices.");
  devices.resize(std::min<size_t>(count, devices.size()));
  VulkanAdapters adapters;
  for (VkPhysicalDevice device : devices) {
    AdapterInfo info = Describe(*functions, device, static_cast<int>(adapters.usable.size()));
    absl::Status lack = CheckUse(*functions, device, info);
    if (lack.ok()) {
      adapters.usable.push_back({std::move(info), device});
    } else {
      adapters.left_out.push_back(std::move(lack));
    }
  }
  return adapters;
}

}  // namespace opserve::d3d12
