// File: tests/gpu/singleton_d3d12.h
//
// A D3D12CreateDevice that follows Windows' rules, over libvkd3d and the Vulkan driver of
// faulty_vulkan.h: an adapter has one device, whoever asks for it; a removed one has nothing more
// to do, its fences have reached the end of time, and there is no other one while anybody holds a
// reference to it. Its adapters are those of tests/modules/fake_dxcore.h.
//
// It is a shared library of its own. Runtime::Load takes its path for those of libd3d12.so and
// libdxcore.so, and tests link it to steer it. Events are the numbers of eventfd files, as in WSL;
// methods have Microsoft's convention, as libvkd3d's have.

#ifndef OPSERVE_TESTS_GPU_SINGLETON_D3D12_H_
#define OPSERVE_TESTS_GPU_SINGLETON_D3D12_H_

namespace opserve::testing {

// A function of Direct3D 12 at which a fault strikes.
enum class SystemCall {
  kCreateDevice,    // D3D12CreateDevice
  kCreateBuffer,    // CreateCommittedResource
  kCreateQueue,     // CreateCommandQueue
  kCreatePipeline,  // CreateComputePipelineState
  kExecute,         // ExecuteCommandLists
  kSignal,          // ID3D12CommandQueue::Signal
};

enum class SystemFault {
  // The device is removed: its driver was reset because it hung.
  kRemoved,
  // The device stops, from this call on, and nobody is told. Its fences move no more until it is
  // removed.
  kHang,
  // The call fails for want of memory. Of calls that make something.
  kNoMemory,
};

// Of the process. Thread-safe.
class SingletonD3D12 {
 public:
  // Whether there are libvkd3d and a Vulkan loader.
  static bool HasLibraries();

  // The fault strikes at the next `count` calls. Replaces what was armed.
  static void Arm(SystemCall call, SystemFault fault, int count = 1);
  // How often what was armed last has struck.
  static int strikes();

  // Whether devices have ID3D12Device5, with RemoveDevice. They do, unless told otherwise.
  static void OfferRemoveDevice(bool is_offered);
  // Drivers remove devices that hang after some seconds.
  static void RemoveHungDevices();

  // Devices that exist, removed ones included.
  static int devices();
  // Times that there was no device to be had because of a removed one, so far.
  static int refusals();
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_SINGLETON_D3D12_H_
