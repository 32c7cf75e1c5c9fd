// File: tests/gpu/odd_adapters.h
//
// Adapters that no driver should describe as it does. Part of the library of faulty_vulkan.h, which
// lists them behind the real ones; no device can be made of them.

#ifndef OPSERVE_TESTS_GPU_ODD_ADAPTERS_H_
#define OPSERVE_TESTS_GPU_ODD_ADAPTERS_H_

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <span>

namespace opserve::testing {

// What real adapters are asked with.
struct RealAdapterFunctions {
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties memory = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties queues = nullptr;
};

// Has the functions that follow ask these.
void SetRealAdapterFunctions(const RealAdapterFunctions& functions);

// "no queue", "no buffers", which nobody can use, and "much memory": a name that fills its place,
// and more heaps, each with all the memory there can be, than fit.
std::span<const VkPhysicalDevice> OddAdapters();

void PropertiesOfAny(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties);
void Properties2OfAny(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties);
void MemoryOfAny(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory);
void QueuesOfAny(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* queues);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_ODD_ADAPTERS_H_
