#include "server/d3d12/runtime/vulkan_memory.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace opserve::d3d12 {
namespace {

// vkGetInstanceProcAddr.
using GetInstanceProcAddr = std::remove_pointer_t<PFN_vkGetInstanceProcAddr>;

bool HasBudgets(PFN_vkEnumerateDeviceExtensionProperties list, VkPhysicalDevice device) {
  uint32_t count = 0;
  if (list(device, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (list(device, nullptr, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::any_of(extensions.begin(), extensions.end(), [](const auto& extension) {
    return std::strcmp(extension.extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0;
  });
}

}  // namespace

VulkanMemory::VulkanMemory(const SharedLibrary& vulkan, void* instance) {
  GetInstanceProcAddr* get = nullptr;
  if (!vulkan.Find("vkGetInstanceProcAddr", get).ok()) return;
  auto* const vk_instance = static_cast<VkInstance>(instance);
  list_extensions_ =
      reinterpret_cast<void*>(get(vk_instance, "vkEnumerateDeviceExtensionProperties"));
  // libvkd3d asks for the extension that has it, and for no version of Vulkan that does.
  memory_properties_ =
      reinterpret_cast<void*>(get(vk_instance, "vkGetPhysicalDeviceMemoryProperties2KHR"));
}

std::optional<MemoryReport> VulkanMemory::ReportOf(void* physical_device) const {
  if (list_extensions_ == nullptr || memory_properties_ == nullptr) return std::nullopt;
  auto* const device = static_cast<VkPhysicalDevice>(physical_device);
  const auto list = reinterpret_cast<PFN_vkEnumerateDeviceExtensionProperties>(list_extensions_);
  if (!HasBudgets(list, device)) return std::nullopt;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budgets{};
  budgets.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  properties.pNext = &budgets;
  reinterpret_cast<PFN_vkGetPhysicalDeviceMemoryProperties2>(memory_properties_)(device,
                                                                                 &properties);
  const VkPhysicalDeviceMemoryProperties& memory = properties.memoryProperties;
  MemoryReport report;
  for (uint32_t i = 0; i < std::min<uint32_t>(memory.memoryHeapCount, VK_MAX_MEMORY_HEAPS); ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    report.budget_bytes += budgets.heapBudget[i];
    report.used_bytes += budgets.heapUsage[i];
  }
  return report;
}

}  // namespace opserve::d3d12
