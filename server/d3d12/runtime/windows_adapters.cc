// Adapters as DXGI knows them, on Windows.

#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/system_adapters.h"

// clang-format off
#include <dxgi1_4.h>
// clang-format on

namespace opserve::d3d12 {
namespace {

// What DXGI says where there are no more adapters.
constexpr auto kNoMore = static_cast<HRESULT>(0x887A0002);
// Where a system that never says so is no longer asked.
constexpr UINT kMostAdapters = 64;

using CreateFactory = HRESULT(REFIID iid, void** factory);

std::string Utf8(const wchar_t* text) {
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  if (bytes <= 1) return "";
  std::string utf8(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8.data(), bytes, nullptr, nullptr);
  utf8.pop_back();  // the zero at the end
  return utf8;
}

absl::StatusOr<AdapterInfo> Describe(IDXGIAdapter1& adapter) {
  DXGI_ADAPTER_DESC1 desc{};
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(adapter.GetDesc1(&desc)));
  AdapterInfo info;
  info.name = Utf8(desc.Description);
  LARGE_INTEGER version{};
  // Some drivers do not say.
  if (adapter.CheckInterfaceSupport(IID_IDXGIDevice, &version) >= 0) {
    info.driver = DriverVersion(static_cast<uint64_t>(version.QuadPart));
  }
  info.luid = LuidNumber(desc.AdapterLuid);
  info.vendor_id = desc.VendorId;
  info.device_id = desc.DeviceId;
  info.is_software = (desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE) != 0;
  info.memory_bytes =
      desc.DedicatedVideoMemory > 0 ? desc.DedicatedVideoMemory : desc.SharedSystemMemory;
  info.max_buffer_bytes = MaxBufferBytes(info.memory_bytes);
  return info;
}

}  // namespace

const SystemNames kSystemNames = {"windows", "d3d12.dll", "dxgi.dll"};

absl::StatusOr<SystemAdapters> EnumerateSystemAdapters(const SharedLibrary& library) {
  CreateFactory* create = nullptr;
  OPSERVE_RETURN_IF_ERROR(library.Find("CreateDXGIFactory1", create));
  ComPtr<IDXGIFactory1> factory;
  OPSERVE_RETURN_IF_ERROR(
      OPSERVE_HRESULT(create(IID_IDXGIFactory1, reinterpret_cast<void**>(factory.GetAddressOf()))));
  SystemAdapters adapters;
  for (UINT place = 0; place < kMostAdapters; ++place) {
    ComPtr<IDXGIAdapter1> adapter;
    const HRESULT found = factory->EnumAdapters1(place, adapter.GetAddressOf());
    if (found == kNoMore) break;
    const absl::Status opened = StatusOfResult("EnumAdapters1", found);
    absl::StatusOr<AdapterInfo> info = opened.ok() ? Describe(*adapter.Get()) : opened;
    if (info.ok()) {
      adapters.usable.push_back({*std::move(info), ComPtr<IUnknown>(adapter.Get())});
    } else {
      adapters.left_out.push_back(LeftOut(place, info.status()));
    }
  }
  if (adapters.usable.empty() && adapters.left_out.empty()) {
    return absl::NotFoundError("DXGI knows no adapter.");
  }
  return adapters;
}

std::optional<MemoryReport> MemoryOfSystemAdapter(IUnknown& adapter) {
  ComPtr<IDXGIAdapter3> adapter3;
  if (adapter.QueryInterface(IID_IDXGIAdapter3, reinterpret_cast<void**>(adapter3.GetAddressOf())) <
      0) {
    return std::nullopt;
  }
  DXGI_QUERY_VIDEO_MEMORY_INFO info{};
  // Where an adapter works in the machine's memory, that is its local one.
  if (adapter3->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &info) < 0) {
    return std::nullopt;
  }
  return MemoryReport{info.Budget, info.CurrentUsage};
}

}  // namespace opserve::d3d12
