#include "tests/gpu/singleton_d3d12.h"

// clang-format off
#include <basetsd.h>  // defines the two macros, of which server/d3d12/runtime/api.h tells
#undef STDMETHODCALLTYPE
#define STDMETHODCALLTYPE __attribute__((ms_abi))
#undef WINAPI
#define WINAPI __attribute__((ms_abi))
#include <wrl/client.h>
// Methods are replaced in tables of functions, which d3d12.h only shows to C.
#define CINTERFACE
#include "server/d3d12/runtime/vkd3d_abi.h"
#include <directx/dxcore_interface.h>
// clang-format on

#include <dlfcn.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "proto/base/mutex.h"
#include "tests/gpu/faulty_vulkan.h"

// Of faulty_vulkan.h.
extern "C" PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name);

namespace opserve::testing {
namespace {

namespace vkd3d = d3d12::vkd3d;

constexpr auto kRemoved = static_cast<HRESULT>(0x887A0005);
constexpr auto kHung = static_cast<HRESULT>(0x887A0006);
constexpr auto kNoMemory = static_cast<HRESULT>(0x8007000E);
constexpr auto kNoInterface = static_cast<HRESULT>(0x80004002);
constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();

using SerializeRootSignature = HRESULT(const D3D12_ROOT_SIGNATURE_DESC* desc,
                                       D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                       ID3DBlob** error);

int FileOf(HANDLE event) { return static_cast<int>(reinterpret_cast<intptr_t>(event)); }

HRESULT SetEvent(HANDLE event) {
  static_cast<void>(eventfd_write(FileOf(event), 1));
  return 0;
}

// The device of an adapter.
struct OpenDevice {
  LUID luid{};
  ID3D12Device* object = nullptr;
  // libvkd3d's methods, and those that the object has now.
  const ID3D12DeviceVtbl* methods = nullptr;
  union {
    ID3D12Device5Vtbl with_remove_device{};
    ID3D12DeviceVtbl replaced;
  };
  HRESULT removed = 0;
  bool is_hanging = false;
};

// A fence: libvkd3d's end with its threads, and know nothing of removal.
struct OpenFence final : ID3D12Fence {
  // Holds a reference.
  ID3D12Device* device = nullptr;
  ULONG references = 1;
  uint64_t value = 0;
  // By the value that they wait for.
  std::multimap<uint64_t, HANDLE> events = {};

  void Reach(uint64_t reached) {
    value = reached;
    while (!events.empty() && events.begin()->first <= value) {
      SetEvent(events.begin()->second);
      events.erase(events.begin());
    }
  }
};

struct Model {
  static Model& Get() {
    static Model& model = *new Model;
    return model;
  }

  bool Strikes(SystemCall call, SystemFault fault) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (left == 0 || armed_call != call || armed_fault != fault) return false;
    --left;
    ++strikes;
    return true;
  }
  void Remove(OpenDevice& device, HRESULT reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Has the fault strike that is armed for `call`. The result that the call has because of that, or
  // because of what the device is: 0 where it is to be made.
  HRESULT ResultOf(SystemCall call, OpenDevice& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (Strikes(call, SystemFault::kRemoved)) Remove(device, kHung);
    if (Strikes(call, SystemFault::kHang)) device.is_hanging = true;
    if (device.removed < 0) return kRemoved;
    return Strikes(call, SystemFault::kNoMemory) ? kNoMemory : 0;
  }

  // libvkd3d, loaded once.
  vkd3d::CreateDevice* create_device = nullptr;
  vkd3d::Instance* instance = nullptr;
  SerializeRootSignature* serialize = nullptr;

  // Held while the device is at work, so that a removed one never is.
  Mutex work_mutex;
  Mutex mutex;
  std::map<ID3D12Device*, OpenDevice> devices ABSL_GUARDED_BY(mutex);
  std::set<OpenFence*> fences ABSL_GUARDED_BY(mutex);
  bool has_remove_device ABSL_GUARDED_BY(mutex) = true;
  SystemCall armed_call ABSL_GUARDED_BY(mutex) = SystemCall::kExecute;
  SystemFault armed_fault ABSL_GUARDED_BY(mutex) = SystemFault::kRemoved;
  int left ABSL_GUARDED_BY(mutex) = 0;
  int strikes ABSL_GUARDED_BY(mutex) = 0;
  int refusals ABSL_GUARDED_BY(mutex) = 0;
};

void Model::Remove(OpenDevice& device, HRESULT reason) {
  if (device.removed < 0) return;
  device.removed = reason;
  device.is_hanging = false;
  for (OpenFence* const fence : fences) {
    if (fence->device == device.object) fence->Reach(kEnd);
  }
}

OpenFence& Of(ID3D12Fence* fence) { return *static_cast<OpenFence*>(fence); }

HRESULT STDMETHODCALLTYPE FenceQueryInterface(ID3D12Fence*, REFIID, void**) { return kNoInterface; }

ULONG STDMETHODCALLTYPE FenceAddRef(ID3D12Fence* fence) {
  MutexLock lock(Model::Get().mutex);
  return ++Of(fence).references;
}

ULONG STDMETHODCALLTYPE FenceRelease(ID3D12Fence* fence) {
  Model& model = Model::Get();
  OpenFence* const released = &Of(fence);
  {
    MutexLock lock(model.mutex);
    if (--released->references > 0) return released->references;
    model.fences.erase(released);
  }
  released->device->lpVtbl->Release(released->device);
  delete released;
  return 0;
}

UINT64 STDMETHODCALLTYPE FenceGetCompletedValue(ID3D12Fence* fence) {
  MutexLock lock(Model::Get().mutex);
  return Of(fence).value;
}

HRESULT STDMETHODCALLTYPE FenceSetEventOnCompletion(ID3D12Fence* fence, UINT64 value,
                                                    HANDLE event) {
  MutexLock lock(Model::Get().mutex);
  Of(fence).events.emplace(value, event);
  Of(fence).Reach(Of(fence).value);
  return 0;
}

// What the layer does not use is not there.
ID3D12FenceVtbl& FenceMethods() {
  static ID3D12FenceVtbl methods = [] {
    ID3D12FenceVtbl made{};
    made.QueryInterface = &FenceQueryInterface;
    made.AddRef = &FenceAddRef;
    made.Release = &FenceRelease;
    made.GetCompletedValue = &FenceGetCompletedValue;
    made.SetEventOnCompletion = &FenceSetEventOnCompletion;
    return made;
  }();
  return methods;
}

// Waits until the real device has done all that it was given.
void WaitForQueue(ID3D12CommandQueue* queue, const ID3D12CommandQueueVtbl& methods,
                  const OpenDevice& device) {
  ID3D12Fence* fence = nullptr;
  if (device.methods->CreateFence(device.object, 0, D3D12_FENCE_FLAG_NONE, IID_ID3D12Fence,
                                  reinterpret_cast<void**>(&fence)) < 0) {
    std::abort();
  }
  pollfd event{eventfd(0, EFD_CLOEXEC), POLLIN, 0};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how events are named.
  const auto handle = reinterpret_cast<HANDLE>(static_cast<intptr_t>(event.fd));
  if (methods.Signal(queue, fence, 1) < 0) std::abort();
  if (fence->lpVtbl->SetEventOnCompletion(fence, 1, handle) < 0) std::abort();
  while (poll(&event, 1, -1) < 1) {
  }
  fence->lpVtbl->Release(fence);
  close(event.fd);
}

// libvkd3d's methods of queues.
const ID3D12CommandQueueVtbl* queue_methods = nullptr;

ID3D12Device* DeviceOf(ID3D12CommandQueue* queue) {
  ID3D12Device* device = nullptr;
  if (queue_methods->GetDevice(queue, IID_ID3D12Device, reinterpret_cast<void**>(&device)) < 0) {
    std::abort();
  }
  // The queue holds another reference.
  device->lpVtbl->Release(device);
  return device;
}

void STDMETHODCALLTYPE Execute(ID3D12CommandQueue* queue, UINT count,
                               ID3D12CommandList* const* lists) {
  Model& model = Model::Get();
  ID3D12Device* const object = DeviceOf(queue);
  MutexLock work_lock(model.work_mutex);
  OpenDevice* device = nullptr;
  {
    MutexLock lock(model.mutex);
    device = &model.devices.at(object);
    if (model.ResultOf(SystemCall::kExecute, *device) < 0 || device->is_hanging) return;
  }
  queue_methods->ExecuteCommandLists(queue, count, lists);
  WaitForQueue(queue, *queue_methods, *device);
}

HRESULT STDMETHODCALLTYPE Signal(ID3D12CommandQueue* queue, ID3D12Fence* fence, UINT64 value) {
  Model& model = Model::Get();
  ID3D12Device* const object = DeviceOf(queue);
  MutexLock lock(model.mutex);
  OpenDevice& device = model.devices.at(object);
  const HRESULT result = model.ResultOf(SystemCall::kSignal, device);
  if (result == 0 && !device.is_hanging) Of(fence).Reach(value);
  return result;
}

// Makes the call of libvkd3d unless a fault or the removal has another result.
template <class Call>
HRESULT Unless(SystemCall call, ID3D12Device* object, const Call& make) {
  Model& model = Model::Get();
  const ID3D12DeviceVtbl* methods = nullptr;
  {
    MutexLock lock(model.mutex);
    OpenDevice& device = model.devices.at(object);
    if (const HRESULT result = model.ResultOf(call, device); result < 0) return result;
    methods = device.methods;
  }
  return make(*methods);
}

const ID3D12DeviceVtbl& MethodsOf(ID3D12Device* object) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return *model.devices.at(object).methods;
}

HRESULT STDMETHODCALLTYPE CreateQueue(ID3D12Device* object, const D3D12_COMMAND_QUEUE_DESC* desc,
                                      REFIID iid, void** out) {
  const HRESULT made =
      Unless(SystemCall::kCreateQueue, object, [&](const ID3D12DeviceVtbl& methods) {
        return methods.CreateCommandQueue(object, desc, iid, out);
      });
  if (made < 0) return made;
  static ID3D12CommandQueueVtbl replaced{};
  auto* const queue = static_cast<ID3D12CommandQueue*>(*out);
  MutexLock lock(Model::Get().mutex);
  if (queue_methods == nullptr) {
    queue_methods = queue->lpVtbl;
    replaced = *queue_methods;
    replaced.ExecuteCommandLists = &Execute;
    replaced.Signal = &Signal;
  }
  queue->lpVtbl = &replaced;
  return made;
}

HRESULT STDMETHODCALLTYPE CreateBuffer(ID3D12Device* object, const D3D12_HEAP_PROPERTIES* heap,
                                       D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC* desc,
                                       D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE* clear,
                                       REFIID iid, void** out) {
  return Unless(SystemCall::kCreateBuffer, object, [&](const ID3D12DeviceVtbl& methods) {
    return methods.CreateCommittedResource(object, heap, flags, desc, state, clear, iid, out);
  });
}

HRESULT STDMETHODCALLTYPE CreatePipeline(ID3D12Device* object,
                                         const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, REFIID iid,
                                         void** out) {
  return Unless(SystemCall::kCreatePipeline, object, [&](const ID3D12DeviceVtbl& methods) {
    return methods.CreateComputePipelineState(object, desc, iid, out);
  });
}

HRESULT STDMETHODCALLTYPE CreateFence(ID3D12Device* object, UINT64 value, D3D12_FENCE_FLAGS, REFIID,
                                      void** out) {
  auto* const fence = new OpenFence;
  fence->lpVtbl = &FenceMethods();
  fence->device = object;
  object->lpVtbl->AddRef(object);
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  fence->value = model.devices.at(object).removed < 0 ? kEnd : value;
  model.fences.insert(fence);
  *out = static_cast<ID3D12Fence*>(fence);
  return 0;
}

HRESULT STDMETHODCALLTYPE RemovedReason(ID3D12Device* object) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  return model.devices.at(object).removed;
}

void STDMETHODCALLTYPE RemoveDevice(ID3D12Device5* object) {
  Model& model = Model::Get();
  MutexLock work_lock(model.work_mutex);
  MutexLock lock(model.mutex);
  model.Remove(model.devices.at(reinterpret_cast<ID3D12Device*>(object)), kRemoved);
}

HRESULT STDMETHODCALLTYPE QueryDevice(ID3D12Device* object, REFIID iid, void** out) {
  if (iid != IID_ID3D12Device5) return MethodsOf(object).QueryInterface(object, iid, out);
  {
    Model& model = Model::Get();
    MutexLock lock(model.mutex);
    if (!model.has_remove_device) return kNoInterface;
  }
  object->lpVtbl->AddRef(object);
  *out = object;
  return 0;
}

// The lock keeps others from being given a device that is going.
ULONG STDMETHODCALLTYPE ReleaseDevice(ID3D12Device* object) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  const ULONG left = model.devices.at(object).methods->Release(object);
  if (left == 0) model.devices.erase(object);
  return left;
}

// Puts the device's methods before libvkd3d's, and RemoveDevice behind them.
void ReplaceMethods(OpenDevice& device) {
  device.methods = device.object->lpVtbl;
  ID3D12DeviceVtbl& replaced = device.replaced;
  replaced = *device.methods;
  replaced.QueryInterface = &QueryDevice;
  replaced.Release = &ReleaseDevice;
  replaced.CreateCommandQueue = &CreateQueue;
  replaced.CreateCommittedResource = &CreateBuffer;
  replaced.CreateComputePipelineState = &CreatePipeline;
  replaced.CreateFence = &CreateFence;
  replaced.GetDeviceRemovedReason = &RemovedReason;
  device.with_remove_device.RemoveDevice = &RemoveDevice;
  device.object->lpVtbl = &replaced;
}

void* FindIn(void* library, const char* symbol) {
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

// False where the machine lacks a library.
bool LoadLibraries(Model& model) {
  void* const library = dlopen("libvkd3d.so.1", RTLD_NOW | RTLD_NODELETE);
  const auto create =
      reinterpret_cast<vkd3d::CreateInstance*>(FindIn(library, "vkd3d_create_instance"));
  model.create_device =
      reinterpret_cast<vkd3d::CreateDevice*>(FindIn(library, "vkd3d_create_device"));
  model.serialize =
      reinterpret_cast<SerializeRootSignature*>(FindIn(library, "vkd3d_serialize_root_signature"));
  if (create == nullptr || model.create_device == nullptr || model.serialize == nullptr ||
      !FaultyVulkan::HasLoader()) {
    return false;
  }
  vkd3d::InstanceCreateInfo info;
  info.signal_event = &SetEvent;
  info.vk_get_instance_proc_addr = reinterpret_cast<void*>(&vkGetInstanceProcAddr);
  return create(&info, &model.instance) == 0;
}

HRESULT OpenAdapter(IDXCoreAdapter& adapter, REFIID iid, void** out) {
  Model& model = Model::Get();
  LUID luid{};
  if (!adapter.IsValid()) return kRemoved;
  if (adapter.GetProperty(DXCoreAdapterProperty::InstanceLuid, sizeof(luid), &luid) < 0) luid = {};
  MutexLock lock(model.mutex);
  if (model.Strikes(SystemCall::kCreateDevice, SystemFault::kRemoved)) return kRemoved;
  if (model.Strikes(SystemCall::kCreateDevice, SystemFault::kNoMemory)) return kNoMemory;
  for (auto& [object, device] : model.devices) {
    if (device.luid.LowPart != luid.LowPart) continue;
    if (device.removed < 0) {
      ++model.refusals;
      return kRemoved;
    }
    object->lpVtbl->AddRef(object);
    *out = object;
    return 0;
  }
  vkd3d::DeviceCreateInfo info;
  info.instance = model.instance;
  info.adapter_luid = luid;
  const HRESULT made = model.create_device(&info, iid, out);
  if (made < 0) return made;
  auto* const object = static_cast<ID3D12Device*>(*out);
  OpenDevice& device = model.devices[object];
  device.luid = luid;
  device.object = object;
  ReplaceMethods(device);
  return made;
}

}  // namespace

bool SingletonD3D12::HasLibraries() {
  static const bool has = LoadLibraries(Model::Get());
  return has;
}

void SingletonD3D12::Arm(SystemCall call, SystemFault fault, int count) {
  Model& model = Model::Get();
  MutexLock lock(model.mutex);
  model.armed_call = call;
  model.armed_fault = fault;
  model.left = count;
  model.strikes = 0;
}

int SingletonD3D12::strikes() {
  MutexLock lock(Model::Get().mutex);
  return Model::Get().strikes;
}

void SingletonD3D12::OfferRemoveDevice(bool is_offered) {
  MutexLock lock(Model::Get().mutex);
  Model::Get().has_remove_device = is_offered;
}

void SingletonD3D12::RemoveHungDevices() {
  Model& model = Model::Get();
  MutexLock work_lock(model.work_mutex);
  MutexLock lock(model.mutex);
  for (auto& [object, device] : model.devices) {
    if (device.is_hanging) model.Remove(device, kHung);
  }
}

int SingletonD3D12::devices() {
  MutexLock lock(Model::Get().mutex);
  return static_cast<int>(Model::Get().devices.size());
}

int SingletonD3D12::refusals() {
  MutexLock lock(Model::Get().mutex);
  return Model::Get().refusals;
}

}  // namespace opserve::testing

extern "C" HRESULT D3D12CreateDevice(IUnknown* adapter, D3D_FEATURE_LEVEL, REFIID iid, void** out) {
  if (!opserve::testing::SingletonD3D12::HasLibraries()) std::abort();
  return opserve::testing::OpenAdapter(*static_cast<IDXCoreAdapter*>(adapter), iid, out);
}

// The layer calls it by the platform's convention, as it calls libvkd3d's; the headers declare its
// name with that of methods.
extern "C" HRESULT SerializeForTests(const D3D12_ROOT_SIGNATURE_DESC* desc,
                                     D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                     ID3DBlob** error) __asm__("D3D12SerializeRootSignature");

extern "C" HRESULT SerializeForTests(const D3D12_ROOT_SIGNATURE_DESC* desc,
                                     D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                     ID3DBlob** error) {
  if (!opserve::testing::SingletonD3D12::HasLibraries()) std::abort();
  return opserve::testing::Model::Get().serialize(desc, version, blob, error);
}
