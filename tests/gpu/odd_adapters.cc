#include "tests/gpu/odd_adapters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace opserve::testing {
namespace {

RealAdapterFunctions real;

enum Oddity { kNoQueue, kNoBuffers, kMuchMemory, kOddityCount };

// What handles point to; only the addresses count.
std::array<char, kOddityCount> objects;

// Which of the odd ones; kOddityCount: a real one.
Oddity OddityOf(VkPhysicalDevice device) {
  for (int i = 0; i < kOddityCount; ++i) {
    if (device == OddAdapters()[static_cast<size_t>(i)]) return static_cast<Oddity>(i);
  }
  return kOddityCount;
}

}  // namespace

void SetRealAdapterFunctions(const RealAdapterFunctions& functions) { real = functions; }

std::span<const VkPhysicalDevice> OddAdapters() {
  static const auto handles = [] {
    std::array<VkPhysicalDevice, kOddityCount> made{};
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = reinterpret_cast<VkPhysicalDevice>(&objects[i]);
    }
    return made;
  }();
  return handles;
}

void PropertiesOfAny(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  const Oddity oddity = OddityOf(device);
  if (oddity == kOddityCount) return real.properties(device, properties);
  *properties = {};
  properties->limits.maxTexelBufferElements = oddity == kNoBuffers ? 0 : 1 << 27;
  // Without the zero at its end.
  std::memset(properties->deviceName, 'm', sizeof(properties->deviceName));
  if (oddity == kNoQueue) std::strcpy(properties->deviceName, "no queue");
  if (oddity == kNoBuffers) std::strcpy(properties->deviceName, "no buffers");
}

void Properties2OfAny(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  if (OddityOf(device) == kOddityCount) return real.properties2(device, properties);
  PropertiesOfAny(device, &properties->properties);
}

void MemoryOfAny(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory) {
  if (OddityOf(device) == kOddityCount) return real.memory(device, memory);
  *memory = {};
  memory->memoryHeapCount = std::numeric_limits<uint32_t>::max();
  for (VkMemoryHeap& heap : memory->memoryHeaps) {
    heap = {std::numeric_limits<uint64_t>::max(), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  }
}

void QueuesOfAny(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* queues) {
  const Oddity oddity = OddityOf(device);
  if (oddity == kOddityCount) return real.queues(device, count, queues);
  const VkQueueFlags has_all = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  if (queues != nullptr && *count > 0) {
    *queues = {};
    queues->queueFlags = oddity == kNoQueue ? VkQueueFlags{VK_QUEUE_TRANSFER_BIT} : has_all;
    queues->queueCount = 1;
  }
  *count = 1;
}

}  // namespace opserve::testing
