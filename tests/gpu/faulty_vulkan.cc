#include "tests/gpu/faulty_vulkan.h"

#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/base/mutex.h"
#include "tests/gpu/odd_adapters.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// The real functions.
struct RealFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  PFN_vkGetDeviceProcAddr GetDeviceProcAddr = nullptr;
  PFN_vkEnumeratePhysicalDevices EnumeratePhysicalDevices = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties EnumerateDeviceExtensionProperties = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties2 GetPhysicalDeviceMemoryProperties2KHR = nullptr;
  PFN_vkCreateDevice CreateDevice = nullptr;
  PFN_vkDestroyDevice DestroyDevice = nullptr;
  PFN_vkGetDeviceQueue GetDeviceQueue = nullptr;
  PFN_vkAllocateMemory AllocateMemory = nullptr;
  PFN_vkFreeMemory FreeMemory = nullptr;
  PFN_vkCmdDispatch CmdDispatch = nullptr;
  PFN_vkQueueSubmit QueueSubmit = nullptr;
  PFN_vkQueueWaitIdle QueueWaitIdle = nullptr;
  PFN_vkDeviceWaitIdle DeviceWaitIdle = nullptr;
  PFN_vkWaitForFences WaitForFences = nullptr;
  PFN_vkGetFenceStatus GetFenceStatus = nullptr;
  PFN_vkResetFences ResetFences = nullptr;
  PFN_vkDestroyFence DestroyFence = nullptr;
};

enum class Health { kWorking, kHanging, kLost };

// A submission that a device that hangs was given.
struct HeldSubmission {
  VkQueue queue;
  std::vector<VkSemaphore> waits;
  std::vector<VkPipelineStageFlags> stages;
  std::vector<VkCommandBuffer> lists;
  std::vector<VkSemaphore> signals;
  VkFence fence;
};

struct ModelDevice {
  Health health = Health::kWorking;
  // It goes on when somebody waits for it to become idle.
  bool is_lying = false;
  // Fences that it is to call signalled.
  int lies = 0;
  std::vector<HeldSubmission> held = {};
  // Fences that the real device is to signal, or has.
  std::set<VkFence> submitted = {};
};

// What adapters say of their memory.
struct MemoryTold {
  enum class Kind { kReal, kTold, kNone };

  Kind kind = Kind::kReal;
  uint64_t budget_bytes = 0;
  uint64_t used_bytes = 0;
};

struct Armed {
  VulkanCall call = VulkanCall::kSubmit;
  VulkanFault fault = VulkanFault::kLost;
  int left = 0;
  int strikes = 0;
};

class Model {
 public:
  // Never destroyed: threads of drivers outlive main().
  static Model& Get() {
    static Model& model = *new Model;
    return model;
  }

  // Whether `fault` is to strike at this call, which it then does.
  bool Strikes(VulkanCall call, VulkanFault fault) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (armed.left == 0 || armed.call != call || armed.fault != fault) return false;
    --armed.left;
    ++armed.strikes;
    return true;
  }
  // What loses or stops the device at this call does so.
  void Strike(ModelDevice& device, VulkanCall call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (Strikes(call, VulkanFault::kLost)) Lose(device);
    if (Strikes(call, VulkanFault::kHang)) device.health = Health::kHanging;
  }
  void Lose(ModelDevice& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    device.health = Health::kLost;
    device.held.clear();
    changed.NotifyAll();
  }
  void Resume(ModelDevice& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  VkResult Submit(ModelDevice& device, const HeldSubmission& submission)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Waits while the device hangs.
  void WaitWhileHanging(ModelDevice& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (device.health == Health::kHanging) {
      if (device.is_lying) {
        Resume(device);
      } else {
        changed.Wait(mutex);
      }
    }
  }

  RealFunctions real;
  Mutex mutex;
  CondVar changed;
  Armed armed ABSL_GUARDED_BY(mutex);
  std::map<VkDevice, ModelDevice> devices ABSL_GUARDED_BY(mutex);
  std::map<VkQueue, VkDevice> device_of_queue ABSL_GUARDED_BY(mutex);
  std::map<VkDeviceMemory, uint64_t> memory ABSL_GUARDED_BY(mutex);
  MemoryTold memory_told ABSL_GUARDED_BY(mutex);
  uint64_t memory_reports ABSL_GUARDED_BY(mutex) = 0;
  uint64_t extension_lists ABSL_GUARDED_BY(mutex) = 0;
  uint64_t waits ABSL_GUARDED_BY(mutex) = 0;
  uint64_t resets ABSL_GUARDED_BY(mutex) = 0;
  bool are_odd_ones_shown ABSL_GUARDED_BY(mutex) = false;
  bool are_waits_held ABSL_GUARDED_BY(mutex) = false;
  bool is_status_awaited ABSL_GUARDED_BY(mutex) = false;
};

VkResult Model::Submit(ModelDevice& device, const HeldSubmission& submission) {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.waitSemaphoreCount = static_cast<uint32_t>(submission.waits.size());
  info.pWaitSemaphores = submission.waits.data();
  info.pWaitDstStageMask = submission.stages.data();
  info.commandBufferCount = static_cast<uint32_t>(submission.lists.size());
  info.pCommandBuffers = submission.lists.data();
  info.signalSemaphoreCount = static_cast<uint32_t>(submission.signals.size());
  info.pSignalSemaphores = submission.signals.data();
  const VkResult result = real.QueueSubmit(submission.queue, 1, &info, submission.fence);
  if (result == VK_SUCCESS && submission.fence != VK_NULL_HANDLE) {
    device.submitted.insert(submission.fence);
  }
  return result;
}

void Model::Resume(ModelDevice& device) {
  device.health = Health::kWorking;
  device.is_lying = false;
  for (const HeldSubmission& submission : std::exchange(device.held, {})) {
    if (Submit(device, submission) != VK_SUCCESS) std::abort();
  }
  changed.NotifyAll();
}

VkResult EnumeratePhysicalDevices(VkInstance instance, uint32_t* count,
                                  VkPhysicalDevice* adapters) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  if (model.Strikes(VulkanCall::kEnumerate, VulkanFault::kNoMemory)) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  const uint32_t room = *count;
  const VkResult result = model.real.EnumeratePhysicalDevices(instance, count, adapters);
  if (!model.are_odd_ones_shown || result != VK_SUCCESS) return result;
  for (const VkPhysicalDevice odd : OddAdapters()) {
    if (adapters != nullptr && *count < room) adapters[*count] = odd;
    ++*count;
  }
  return result;
}

// Those of the real adapter, with VK_EXT_memory_budget or without it.
VkResult EnumerateDeviceExtensionProperties(VkPhysicalDevice adapter, const char* layer,
                                            uint32_t* count, VkExtensionProperties* properties) {
  // The loader does not know these.
  for (const VkPhysicalDevice odd : OddAdapters()) {
    if (adapter != odd) continue;
    *count = 0;
    return VK_SUCCESS;
  }
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  if (properties != nullptr) ++model.extension_lists;
  const auto list = model.real.EnumerateDeviceExtensionProperties;
  if (layer != nullptr || model.memory_told.kind == MemoryTold::Kind::kReal) {
    return list(adapter, layer, count, properties);
  }
  uint32_t real_count = 0;
  if (const VkResult result = list(adapter, nullptr, &real_count, nullptr); result != VK_SUCCESS) {
    return result;
  }
  std::vector<VkExtensionProperties> all(real_count);
  list(adapter, nullptr, &real_count, all.data());
  std::erase_if(all, [](const VkExtensionProperties& extension) {
    return std::string_view(extension.extensionName) == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
  });
  if (model.memory_told.kind == MemoryTold::Kind::kTold) {
    VkExtensionProperties& added = all.emplace_back();
    std::strcpy(added.extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    added.specVersion = VK_EXT_MEMORY_BUDGET_SPEC_VERSION;
  }
  if (properties == nullptr) {
    *count = static_cast<uint32_t>(all.size());
    return VK_SUCCESS;
  }
  *count = std::min(*count, static_cast<uint32_t>(all.size()));
  std::copy_n(all.begin(), *count, properties);
  return *count < all.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

void GetPhysicalDeviceMemoryProperties2KHR(VkPhysicalDevice adapter,
                                           VkPhysicalDeviceMemoryProperties2* properties) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.real.GetPhysicalDeviceMemoryProperties2KHR(adapter, properties);
  auto* const next = static_cast<VkBaseOutStructure*>(properties->pNext);
  if (next == nullptr ||
      next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
    return;
  }
  ++model.memory_reports;
  if (model.memory_told.kind != MemoryTold::Kind::kTold) return;
  // All of it is in the first heap that the adapter has to itself.
  auto* const budgets = reinterpret_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(next);
  MemoryTold left = model.memory_told;
  for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; ++i) {
    const bool is_own =
        i < properties->memoryProperties.memoryHeapCount &&
        (properties->memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    budgets->heapBudget[i] = is_own ? std::exchange(left.budget_bytes, 0) : 0;
    budgets->heapUsage[i] = is_own ? std::exchange(left.used_bytes, 0) : 0;
  }
}

VkResult CreateDevice(VkPhysicalDevice adapter, const VkDeviceCreateInfo* info,
                      const VkAllocationCallbacks* allocator, VkDevice* device) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  if (model.Strikes(VulkanCall::kCreateDevice, VulkanFault::kLost)) return VK_ERROR_DEVICE_LOST;
  const VkResult result = model.real.CreateDevice(adapter, info, allocator, device);
  if (result == VK_SUCCESS) model.devices[*device];
  return result;
}

void DestroyDevice(VkDevice device, const VkAllocationCallbacks* allocator) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.devices.erase(device);
  std::erase_if(model.device_of_queue,
                [device](const auto& queue) { return queue.second == device; });
  model.real.DestroyDevice(device, allocator);
}

void GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.real.GetDeviceQueue(device, family, index, queue);
  model.device_of_queue[*queue] = device;
}

VkResult AllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                        const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  const VkResult result = model.real.AllocateMemory(device, info, allocator, memory);
  if (result == VK_SUCCESS) model.memory[*memory] = info->allocationSize;
  return result;
}

void FreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.memory.erase(memory);
  model.real.FreeMemory(device, memory, allocator);
}

void CmdDispatch(VkCommandBuffer list, uint32_t x, uint32_t y, uint32_t z) {
  Model& model = Model::Get();
  {
    MutexLock lock(model.mutex);
    if (model.Strikes(VulkanCall::kDispatch, VulkanFault::kWrong)) return;
  }
  model.real.CmdDispatch(list, x, y, z);
}

VkResult QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  // All that libvkd3d makes of what opserve does.
  if (count != 1) std::abort();
  const VkSubmitInfo& info = submits[0];
  HeldSubmission submission = {
      queue,
      {info.pWaitSemaphores, info.pWaitSemaphores + info.waitSemaphoreCount},
      {info.pWaitDstStageMask, info.pWaitDstStageMask + info.waitSemaphoreCount},
      {info.pCommandBuffers, info.pCommandBuffers + info.commandBufferCount},
      {info.pSignalSemaphores, info.pSignalSemaphores + info.signalSemaphoreCount},
      fence};
  const bool has_work = !submission.lists.empty();
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  ModelDevice& device = model.devices.at(model.device_of_queue.at(queue));
  model.Strike(device, VulkanCall::kSubmit);
  if (device.health == Health::kLost) return VK_ERROR_DEVICE_LOST;
  if (model.Strikes(VulkanCall::kSubmit, VulkanFault::kNoMemory)) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  if (has_work && model.Strikes(VulkanCall::kSubmit, VulkanFault::kWrong)) submission.lists.clear();
  if (has_work && model.Strikes(VulkanCall::kStatus, VulkanFault::kWrong)) {
    device.health = Health::kHanging;
    device.is_lying = true;
    device.lies = 1;
    model.changed.NotifyAll();
  }
  if (device.health == Health::kWorking) return model.Submit(device, submission);
  device.held.push_back(std::move(submission));
  return VK_SUCCESS;
}

VkResult QueueWaitIdle(VkQueue queue) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  ModelDevice& device = model.devices.at(model.device_of_queue.at(queue));
  model.WaitWhileHanging(device);
  const VkResult result = model.real.QueueWaitIdle(queue);
  return device.health == Health::kLost ? VK_ERROR_DEVICE_LOST : result;
}

VkResult DeviceWaitIdle(VkDevice handle) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  ModelDevice& device = model.devices.at(handle);
  model.WaitWhileHanging(device);
  const VkResult result = model.real.DeviceWaitIdle(handle);
  return device.health == Health::kLost ? VK_ERROR_DEVICE_LOST : result;
}

VkResult WaitForFences(VkDevice handle, uint32_t count, const VkFence* fences, VkBool32 all,
                       uint64_t timeout) {
  Model& model = Model::Get();
  std::vector<VkFence> waited(fences, fences + count);
  bool is_lost = false;
  {
    MutexLock lock(model.mutex);
    ++model.waits;
    ModelDevice& device = model.devices.at(handle);
    model.Strike(device, VulkanCall::kWait);
    if (model.Strikes(VulkanCall::kWait, VulkanFault::kNoMemory)) {
      return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (model.Strikes(VulkanCall::kWait, VulkanFault::kWrong)) return VK_SUCCESS;
    while (device.health == Health::kHanging || model.are_waits_held) {
      if (device.lies > 0) return VK_SUCCESS;
      model.changed.Wait(model.mutex);
    }
    is_lost = device.health == Health::kLost;
    // Of those that were never submitted the real device knows nothing.
    if (is_lost)
      std::erase_if(waited, [&](VkFence fence) { return !device.submitted.contains(fence); });
  }
  if (!is_lost) return model.real.WaitForFences(handle, count, fences, all, timeout);
  if (!waited.empty()) {
    model.real.WaitForFences(handle, static_cast<uint32_t>(waited.size()), waited.data(), VK_TRUE,
                             kNoLimit);
  }
  return VK_ERROR_DEVICE_LOST;
}

VkResult GetFenceStatus(VkDevice handle, VkFence fence) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  ModelDevice& device = model.devices.at(handle);
  model.Strike(device, VulkanCall::kStatus);
  if (model.Strikes(VulkanCall::kStatus, VulkanFault::kNoMemory)) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  const bool is_submitted = device.submitted.contains(fence);
  if (!is_submitted && device.lies > 0) {
    --device.lies;
    return VK_SUCCESS;
  }
  if (is_submitted && model.is_status_awaited) {
    model.real.WaitForFences(handle, 1, &fence, VK_TRUE, kNoLimit);
  }
  if (device.health != Health::kLost) {
    return is_submitted ? model.real.GetFenceStatus(handle, fence) : VK_NOT_READY;
  }
  if (is_submitted) model.real.WaitForFences(handle, 1, &fence, VK_TRUE, kNoLimit);
  return VK_ERROR_DEVICE_LOST;
}

// Of submissions that are held, too: they are to signal it no more.
void Forget(ModelDevice& device, VkFence fence) {
  device.submitted.erase(fence);
  for (HeldSubmission& submission : device.held) {
    if (submission.fence == fence) submission.fence = VK_NULL_HANDLE;
  }
}

VkResult ResetFences(VkDevice handle, uint32_t count, const VkFence* fences) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  ++model.resets;
  for (uint32_t i = 0; i < count; ++i) Forget(model.devices.at(handle), fences[i]);
  return model.real.ResetFences(handle, count, fences);
}

void DestroyFence(VkDevice handle, VkFence fence, const VkAllocationCallbacks* allocator) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  Forget(model.devices.at(handle), fence);
  model.real.DestroyFence(handle, fence, allocator);
}

PFN_vkVoidFunction FindDeviceFunction(VkDevice device, const char* name);

// The function of this name, if it is one of ours.
PFN_vkVoidFunction FindOwn(std::string_view name) {
#define OPSERVE_OWN_FUNCTION(NAME) \
  if (name == "vk" #NAME) return reinterpret_cast<PFN_vkVoidFunction>(&NAME)
  OPSERVE_OWN_FUNCTION(EnumeratePhysicalDevices);
  OPSERVE_OWN_FUNCTION(EnumerateDeviceExtensionProperties);
  OPSERVE_OWN_FUNCTION(GetPhysicalDeviceMemoryProperties2KHR);
  OPSERVE_OWN_FUNCTION(CreateDevice);
  OPSERVE_OWN_FUNCTION(DestroyDevice);
  OPSERVE_OWN_FUNCTION(GetDeviceQueue);
  OPSERVE_OWN_FUNCTION(AllocateMemory);
  OPSERVE_OWN_FUNCTION(FreeMemory);
  OPSERVE_OWN_FUNCTION(CmdDispatch);
  OPSERVE_OWN_FUNCTION(QueueSubmit);
  OPSERVE_OWN_FUNCTION(QueueWaitIdle);
  OPSERVE_OWN_FUNCTION(DeviceWaitIdle);
  OPSERVE_OWN_FUNCTION(WaitForFences);
  OPSERVE_OWN_FUNCTION(GetFenceStatus);
  OPSERVE_OWN_FUNCTION(ResetFences);
  OPSERVE_OWN_FUNCTION(DestroyFence);
#undef OPSERVE_OWN_FUNCTION
#define OPSERVE_ADAPTER_FUNCTION(NAME, FUNCTION) \
  if (name == NAME) return reinterpret_cast<PFN_vkVoidFunction>(&(FUNCTION))
  OPSERVE_ADAPTER_FUNCTION("vkGetPhysicalDeviceProperties", PropertiesOfAny);
  OPSERVE_ADAPTER_FUNCTION("vkGetPhysicalDeviceProperties2KHR", Properties2OfAny);
  OPSERVE_ADAPTER_FUNCTION("vkGetPhysicalDeviceMemoryProperties", MemoryOfAny);
  OPSERVE_ADAPTER_FUNCTION("vkGetPhysicalDeviceQueueFamilyProperties", QueuesOfAny);
#undef OPSERVE_ADAPTER_FUNCTION
  if (name == "vkGetDeviceProcAddr") {
    return reinterpret_cast<PFN_vkVoidFunction>(&FindDeviceFunction);
  }
  return nullptr;
}

PFN_vkVoidFunction FindDeviceFunction(VkDevice device, const char* name) {
  const PFN_vkVoidFunction own = FindOwn(name);
  return own != nullptr ? own : Model::Get().real.GetDeviceProcAddr(device, name);
}

void FindRealFunctions(VkInstance instance, RealFunctions& real) {
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        real.GetInstanceProcAddr(instance, name));
  };
  RealAdapterFunctions of_adapters;
  find("vkGetPhysicalDeviceProperties", of_adapters.properties);
  find("vkGetPhysicalDeviceProperties2KHR", of_adapters.properties2);
  find("vkGetPhysicalDeviceMemoryProperties", of_adapters.memory);
  find("vkGetPhysicalDeviceQueueFamilyProperties", of_adapters.queues);
  SetRealAdapterFunctions(of_adapters);
  find("vkGetDeviceProcAddr", real.GetDeviceProcAddr);
  find("vkEnumeratePhysicalDevices", real.EnumeratePhysicalDevices);
  find("vkEnumerateDeviceExtensionProperties", real.EnumerateDeviceExtensionProperties);
  find("vkGetPhysicalDeviceMemoryProperties2KHR", real.GetPhysicalDeviceMemoryProperties2KHR);
  find("vkCreateDevice", real.CreateDevice);
  find("vkDestroyDevice", real.DestroyDevice);
  find("vkGetDeviceQueue", real.GetDeviceQueue);
  find("vkAllocateMemory", real.AllocateMemory);
  find("vkFreeMemory", real.FreeMemory);
  find("vkCmdDispatch", real.CmdDispatch);
  find("vkQueueSubmit", real.QueueSubmit);
  find("vkQueueWaitIdle", real.QueueWaitIdle);
  find("vkDeviceWaitIdle", real.DeviceWaitIdle);
  find("vkWaitForFences", real.WaitForFences);
  find("vkGetFenceStatus", real.GetFenceStatus);
  find("vkResetFences", real.ResetFences);
  find("vkDestroyFence", real.DestroyFence);
}

PFN_vkGetInstanceProcAddr RealGetInstanceProcAddr() {
  static void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
}

}  // namespace

bool FaultyVulkan::HasLoader() { return RealGetInstanceProcAddr() != nullptr; }

std::string FaultyVulkan::path() {
  // Of something that nobody but this library has.
  static constexpr char kInside = 0;
  Dl_info info{};
  return dladdr(&kInside, &info) != 0 ? info.dli_fname : "";
}

void FaultyVulkan::Arm(VulkanCall call, VulkanFault fault, int count) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.armed = {call, fault, count, 0};
}

int FaultyVulkan::strikes() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.armed.strikes;
}

void FaultyVulkan::ResetHungDevices() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  for (auto& [handle, device] : model.devices) {
    if (device.health == Health::kHanging) model.Lose(device);
  }
}

void FaultyVulkan::ResumeHungDevices() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  for (auto& [handle, device] : model.devices) {
    if (device.health == Health::kHanging) model.Resume(device);
  }
}

void FaultyVulkan::ShowOddAdapters(bool are_shown) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.are_odd_ones_shown = are_shown;
}

void FaultyVulkan::HoldWaits(bool is_held) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.are_waits_held = is_held;
  model.changed.NotifyAll();
}

void FaultyVulkan::WaitForStatus(bool is_awaited) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.is_status_awaited = is_awaited;
}

uint64_t FaultyVulkan::resets() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.resets;
}

void FaultyVulkan::ReportRealMemory() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.memory_told = {MemoryTold::Kind::kReal};
}

void FaultyVulkan::ReportMemory(uint64_t budget_bytes, uint64_t used_bytes) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.memory_told = {MemoryTold::Kind::kTold, budget_bytes, used_bytes};
}

void FaultyVulkan::ReportNoMemory() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.memory_told = {MemoryTold::Kind::kNone};
}

uint64_t FaultyVulkan::memory_reports() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.memory_reports;
}

uint64_t FaultyVulkan::extension_lists() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.extension_lists;
}

uint64_t FaultyVulkan::waits() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.waits;
}

int FaultyVulkan::devices() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return static_cast<int>(model.devices.size());
}

uint64_t FaultyVulkan::memory_bytes() {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  uint64_t bytes = 0;
  for (const auto& [handle, size] : model.memory) bytes += size;
  return bytes;
}

}  // namespace opserve::testing

extern "C" PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  using opserve::testing::FindOwn;
  using opserve::testing::Model;
  opserve::testing::RealFunctions& real = Model::Get().real;
  if (real.GetInstanceProcAddr == nullptr) {
    real.GetInstanceProcAddr = opserve::testing::RealGetInstanceProcAddr();
  }
  if (real.GetInstanceProcAddr == nullptr) return nullptr;
  if (std::string_view(name) == "vkGetDeviceProcAddr") {
    opserve::testing::FindRealFunctions(instance, real);
  }
  const PFN_vkVoidFunction own = FindOwn(name);
  return own != nullptr ? own : real.GetInstanceProcAddr(instance, name);
}
