// File: tests/gpu/faulty_vulkan.h
//
// A Vulkan loader that stands before the real one and has its devices fail as hardware does: they
// are lost, hang, have no memory, or lie. What it says is as Vulkan allows: a lost device gives up
// what it was given, and says so in finite time; nothing that it may still use is called free.
//
// It is a shared library of its own. Runtime::Load takes its path for that of the loader, and tests
// and benchmarks link it to steer it.

#ifndef OPSERVE_TESTS_GPU_FAULTY_VULKAN_H_
#define OPSERVE_TESTS_GPU_FAULTY_VULKAN_H_

#include <cstdint>
#include <string>

namespace opserve::testing {

// A function of Vulkan at which a fault strikes.
enum class VulkanCall {
  kEnumerate,     // vkEnumeratePhysicalDevices; only fails for want of memory
  kCreateDevice,  // vkCreateDevice
  kSubmit,        // vkQueueSubmit
  kWait,          // vkWaitForFences
  kStatus,        // vkGetFenceStatus
  kDispatch,      // vkCmdDispatch
};

enum class VulkanFault {
  // The device is lost, and says so from this call on.
  kLost,
  // The device stops, from this call on. It takes submissions and does not carry them out.
  kHang,
  // The call fails for want of memory.
  kNoMemory,
  // kSubmit: the submission is dropped, and its fence signalled. kWait: a fence is said to be
  // signalled. kStatus: the same, of the next submission with work, at which the device hangs, so
  // that it certainly is not. kDispatch: it is dropped.
  kWrong,
};

// Of the process. Thread-safe.
class FaultyVulkan {
 public:
  // Whether there is a real loader to stand before.
  static bool HasLoader();
  // The file of this library, for Runtime::Load.
  static std::string path();

  // The fault strikes at the next `count` calls. Replaces what was armed.
  static void Arm(VulkanCall call, VulkanFault fault, int count = 1);
  // How often what was armed last has struck.
  static int strikes();

  // Devices that hang are reset, as drivers do after some seconds: they are lost.
  static void ResetHungDevices();
  // Devices that hang go on with what they were given.
  static void ResumeHungDevices();

  // Until the next call with false, instances list the adapters of odd_adapters.h, too.
  static void ShowOddAdapters(bool are_shown);

  // Until the next call with false, vkWaitForFences returns not before that.
  static void HoldWaits(bool is_held);
  // Until the next call with false, vkGetFenceStatus waits until the fence is signalled.
  static void WaitForStatus(bool is_awaited);
  // Calls of vkResetFences so far, which is what follows a fence that is signalled.
  static uint64_t resets();

  // What adapters say of their memory from now on: as real ones do, which is how it begins; these
  // numbers, by VK_EXT_memory_budget; or nothing, as drivers without that extension. Who has listed
  // their extensions before goes by what he saw.
  static void ReportRealMemory();
  static void ReportMemory(uint64_t budget_bytes, uint64_t used_bytes);
  static void ReportNoMemory();
  // How often they were asked.
  static uint64_t memory_reports();
  // How often an adapter's extensions were listed.
  static uint64_t extension_lists();

  // Calls of vkWaitForFences so far.
  static uint64_t waits();
  // Devices that exist, and bytes of their memory.
  static int devices();
  static uint64_t memory_bytes();
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_FAULTY_VULKAN_H_
