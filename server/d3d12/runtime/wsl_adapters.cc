// Adapters as DXCore knows them, in the Windows Subsystem for Linux.

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/system_adapters.h"

// clang-format off
#include <directx/dxcore_interface.h>
// clang-format on

namespace opserve::d3d12 {
namespace {

// How the Linux kernel of WSL gives access to the GPUs of Windows.
constexpr char kGpuDevice[] = "/dev/dxg";

// No name is longer.
constexpr size_t kMostNameBytes = 4096;

using CreateAdapterFactory = HRESULT(REFIID iid, void** factory);

template <class T>
absl::Status Property(IDXCoreAdapter& adapter, DXCoreAdapterProperty property, T& value) {
  return OPSERVE_HRESULT(adapter.GetProperty(property, sizeof(value), &value));
}

absl::StatusOr<std::string> NameOf(IDXCoreAdapter& adapter) {
  size_t bytes = 0;
  OPSERVE_RETURN_IF_ERROR(
      OPSERVE_HRESULT(adapter.GetPropertySize(DXCoreAdapterProperty::DriverDescription, &bytes)));
  if (bytes > kMostNameBytes) {
    return absl::InternalError(absl::StrCat("Its name is said to have ", bytes, " bytes."));
  }
  std::string name(bytes, '\0');
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(
      adapter.GetProperty(DXCoreAdapterProperty::DriverDescription, name.size(), name.data())));
  // DXCore counts the zero at the end.
  name.resize(name.find_last_not_of('\0') + 1);
  return name;
}

absl::StatusOr<AdapterInfo> Describe(IDXCoreAdapter& adapter) {
  AdapterInfo info;
  absl::StatusOr<std::string> name = NameOf(adapter);
  if (!name.ok()) return name.status();
  info.name = *std::move(name);
  // Some drivers do not say.
  LUID luid{};
  if (Property(adapter, DXCoreAdapterProperty::InstanceLuid, luid).ok()) {
    info.luid = LuidNumber(luid);
  }
  uint64_t version = 0;
  if (Property(adapter, DXCoreAdapterProperty::DriverVersion, version).ok()) {
    info.driver = DriverVersion(version);
  }
  DXCoreHardwareID hardware{};
  OPSERVE_RETURN_IF_ERROR(Property(adapter, DXCoreAdapterProperty::HardwareID, hardware));
  info.vendor_id = hardware.vendorID;
  info.device_id = hardware.deviceID;
  bool is_hardware = false;
  OPSERVE_RETURN_IF_ERROR(Property(adapter, DXCoreAdapterProperty::IsHardware, is_hardware));
  info.is_software = !is_hardware;
  bool is_integrated = false;
  OPSERVE_RETURN_IF_ERROR(Property(adapter, DXCoreAdapterProperty::IsIntegrated, is_integrated));
  const bool is_shared = is_integrated || !is_hardware;
  OPSERVE_RETURN_IF_ERROR(Property(adapter,
                                   is_shared ? DXCoreAdapterProperty::SharedSystemMemory
                                             : DXCoreAdapterProperty::DedicatedAdapterMemory,
                                   info.memory_bytes));
  info.max_buffer_bytes = MaxBufferBytes(info.memory_bytes);
  return info;
}

absl::StatusOr<SystemAdapter> Open(IDXCoreAdapterList& list, uint32_t place) {
  ComPtr<IDXCoreAdapter> adapter;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(list.GetAdapter(
      place, IID_IDXCoreAdapter, reinterpret_cast<void**>(adapter.GetAddressOf()))));
  absl::StatusOr<AdapterInfo> info = Describe(*adapter.Get());
  if (!info.ok()) return info.status();
  return SystemAdapter{*std::move(info), ComPtr<IUnknown>(adapter.Get())};
}

absl::Status ListAdapters(const SharedLibrary& library, ComPtr<IDXCoreAdapterList>& list) {
  CreateAdapterFactory* create = nullptr;
  OPSERVE_RETURN_IF_ERROR(library.Find("DXCoreCreateAdapterFactory", create));
  ComPtr<IDXCoreAdapterFactory> factory;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(
      create(IID_IDXCoreAdapterFactory, reinterpret_cast<void**>(factory.GetAddressOf()))));
  return OPSERVE_HRESULT(factory->CreateAdapterList(1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS,
                                                    IID_IDXCoreAdapterList,
                                                    reinterpret_cast<void**>(list.GetAddressOf())));
}

}  // namespace

const SystemNames kSystemNames = {"wsl", "libd3d12.so", "libdxcore.so"};

absl::StatusOr<SystemAdapters> EnumerateSystemAdapters(const SharedLibrary& library) {
  ComPtr<IDXCoreAdapterList> list;
  const absl::Status listed = ListAdapters(library, list);
  const bool has_any = listed.ok() && list->GetAdapterCount() > 0;
  // The usual reason, which the results of calls do not tell.
  if (!has_any && access(kGpuDevice, F_OK) != 0) {
    return absl::NotFoundError("There is no /dev/dxg: not WSL, or WSL without access to a GPU.");
  }
  OPSERVE_RETURN_IF_ERROR(listed);
  if (!has_any) return absl::NotFoundError("DXCore knows no Direct3D 12 adapter.");
  SystemAdapters adapters;
  for (uint32_t place = 0; place < list->GetAdapterCount(); ++place) {
    absl::StatusOr<SystemAdapter> adapter = Open(*list.Get(), place);
    if (adapter.ok()) {
      adapters.usable.push_back(*std::move(adapter));
    } else {
      adapters.left_out.push_back(LeftOut(place, adapter.status()));
    }
  }
  return adapters;
}

std::optional<MemoryReport> MemoryOfSystemAdapter(IUnknown& adapter) {
  ComPtr<IDXCoreAdapter> core;
  if (adapter.QueryInterface(IID_IDXCoreAdapter, reinterpret_cast<void**>(core.GetAddressOf())) <
          0 ||
      !core->IsQueryStateSupported(DXCoreAdapterState::AdapterMemoryBudget)) {
    return std::nullopt;
  }
  // Where an adapter works in the machine's memory, that is its local one.
  const DXCoreAdapterMemoryBudgetNodeSegmentGroup segment{0, DXCoreSegmentGroup::Local};
  DXCoreAdapterMemoryBudget budget{};
  if (core->QueryState(DXCoreAdapterState::AdapterMemoryBudget, sizeof(segment), &segment,
                       sizeof(budget), &budget) < 0) {
    return std::nullopt;
  }
  return MemoryReport{budget.budget, budget.currentUsage};
}

}  // namespace opserve::d3d12
