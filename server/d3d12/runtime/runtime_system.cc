// The run times whose Direct3D 12 is Microsoft's own: WSL and Windows.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"
#include "server/d3d12/runtime/adapter_match.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/runtime_impl.h"
#include "server/d3d12/runtime/shared_library.h"
#include "server/d3d12/runtime/system_adapters.h"

namespace opserve::d3d12 {
namespace {

// How often the thread that is to free a lost device looks whether it is removed.
constexpr std::chrono::milliseconds kRemovalLookInterval{50};

// Devices are singletons: while anybody holds a reference to a removed one, D3D12CreateDevice fails
// for its adapter. So all of it is released, which needs it to be removed.
struct SystemImpl final : Runtime::Impl {
  explicit SystemImpl(const SharedLibrary& library) : knows_adapters(library) {}

  absl::Status CreateDevice(int index, ComPtr<ID3D12Device>& device) const override;
  bool WaitUntilIdle(ID3D12Device& device) const override;

  std::optional<MemoryReport> MemoryOf(int index) const override;

  const SharedLibrary knows_adapters;
  PFN_D3D12_CREATE_DEVICE create_device = nullptr;
  mutable Mutex mutex;
  // As they were listed for the latest device of each of `adapters`.
  mutable std::vector<ComPtr<IUnknown>> handles ABSL_GUARDED_BY(mutex);
};

// No device is made of an adapter that is kept: after an update of the driver it is of no more use,
// and a device may be made because of that.
absl::Status SystemImpl::CreateDevice(int index, ComPtr<ID3D12Device>& device) const {
  const absl::StatusOr<SystemAdapters> found = EnumerateSystemAdapters(knows_adapters);
  if (!found.ok()) return found.status();
  std::vector<AdapterInfo> present;
  for (const SystemAdapter& adapter : found->usable) present.push_back(adapter.info);
  const std::optional<size_t> place = FindAgain(adapters, static_cast<size_t>(index), present);
  if (!place) {
    return absl::UnavailableError(
        absl::StrCat("The adapter \"", adapters[index].name, "\" is not there any more."));
  }
  const ComPtr<IUnknown>& adapter = found->usable[*place].adapter;
  {
    MutexLock lock(mutex);
    handles[index] = adapter;
  }
  return OPSERVE_HRESULT(create_device(adapter.Get(), D3D_FEATURE_LEVEL_11_0, IID_ID3D12Device,
                                       reinterpret_cast<void**>(device.ReleaseAndGetAddressOf())));
}

std::optional<MemoryReport> SystemImpl::MemoryOf(int index) const {
  ComPtr<IUnknown> adapter;
  {
    MutexLock lock(mutex);
    adapter = handles[index];
  }
  return MemoryOfSystemAdapter(*adapter.Get());
}

// A removed device does nothing more: the system has taken it off the hardware. One that hangs is
// removed here where it can be, else by its driver, or never.
bool SystemImpl::WaitUntilIdle(ID3D12Device& device) const {
  const auto is_removed = [&device] { return device.GetDeviceRemovedReason() < 0; };
  ComPtr<ID3D12Device5> removable;
  if (!is_removed() &&
      device.QueryInterface(IID_ID3D12Device5,
                            reinterpret_cast<void**>(removable.GetAddressOf())) >= 0) {
    removable->RemoveDevice();
  }
  while (!is_removed()) std::this_thread::sleep_for(kRemovalLookInterval);
  return true;
}

std::string NameOr(const std::string& given, const char* fallback) {
  return given.empty() ? fallback : given;
}

}  // namespace

std::string DriverVersion(uint64_t version) {
  return absl::StrCat((version >> 48) & 0xFFFF, ".", (version >> 32) & 0xFFFF, ".",
                      (version >> 16) & 0xFFFF, ".", version & 0xFFFF);
}

uint64_t MaxBufferBytes(uint64_t memory_bytes) {
  constexpr uint64_t kMegabyte = uint64_t{1} << 20;
  // The three terms of D3D12_REQ_RESOURCE_SIZE_IN_MEGABYTES_EXPRESSION.
  return std::clamp(memory_bytes / 4, 128 * kMegabyte, 2048 * kMegabyte);
}

absl::Status LeftOut(uint32_t place, const absl::Status& why) {
  return {why.code(), absl::StrCat("Adapter ", place, " of the system: ", why.message())};
}

uint64_t LuidNumber(const LUID& luid) {
  return uint64_t{static_cast<uint32_t>(luid.HighPart)} << 32 | luid.LowPart;
}

absl::StatusOr<std::shared_ptr<const Runtime>> Runtime::Load(const RuntimeLibraries& libraries) {
  const absl::StatusOr<SharedLibrary> knows_adapters =
      SharedLibrary::Load(NameOr(libraries.adapters, kSystemNames.adapters));
  if (!knows_adapters.ok()) return knows_adapters.status();
  const absl::StatusOr<SharedLibrary> direct3d =
      SharedLibrary::Load(NameOr(libraries.direct3d, kSystemNames.direct3d));
  if (!direct3d.ok()) return direct3d.status();

  auto impl = std::make_unique<SystemImpl>(*knows_adapters);
  impl->name = kSystemNames.runtime;
  OPSERVE_RETURN_IF_ERROR(direct3d->Find("D3D12CreateDevice", impl->create_device));
  OPSERVE_RETURN_IF_ERROR(
      direct3d->Find("D3D12SerializeRootSignature", impl->serialize_root_signature));
  absl::StatusOr<SystemAdapters> found = EnumerateSystemAdapters(*knows_adapters);
  if (!found.ok()) return found.status();
  impl->left_out = std::move(found->left_out);
  for (SystemAdapter& adapter : found->usable) {
    adapter.info.runtime = kSystemNames.runtime;
    adapter.info.index = static_cast<int>(impl->adapters.size());
    impl->adapters.push_back(std::move(adapter.info));
    MutexLock lock(impl->mutex);
    impl->handles.push_back(std::move(adapter.adapter));
  }
  return std::shared_ptr<const Runtime>(new Runtime(std::move(impl)));
}

}  // namespace opserve::d3d12
