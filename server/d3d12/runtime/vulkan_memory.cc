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

VulkanMemory::VulkanMemory(const SharedLibrary& vulkan, void* instance,
                           const std::vector<void*>& physical_devices) {
  GetInstanceProcAddr* get = nullptr;
  if (!vulkan.Find("vkGetInstanceProcAddr", get).ok()) return;
  auto* const vk_instance = static_cast<VkInstance>(instance);
  // libvkd3d asks for the extension that has it, and for no version of Vulkan that does.
  memory_properties_ =
      reinterpret_cast<void*>(get(vk_instance, "vkGetPhysicalDeviceMemoryProperties2KHR"));
  const auto list = reinterpret_cast<PFN_vkEnumerateDeviceExtensionProperties>(
      get(vk_instance, "vkEnumerateDeviceExtensionProperties"));
  if (list == nullptr || memory_properties_ == nullptr) return;
  for (void* const device : physical_devices) {
    if (HasBudgets(list, static_cast<VkPhysicalDevice>(device))) with_budgets_.insert(device);
  }
}

std::optional<MemoryReport> VulkanMemory::ReportOf(void* physical_device) const {
  if (!with_budgets_.contains(physical_device)) return std::nullopt;
  auto* const device = static_cast<VkPhysicalDevice>(physical_device);
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
