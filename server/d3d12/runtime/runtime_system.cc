// The run times whose Direct3D 12 is Microsoft's own: WSL and Windows.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/runtime_impl.h"
#include "server/d3d12/runtime/shared_library.h"
#include "server/d3d12/runtime/system_adapters.h"

namespace opserve::d3d12 {
namespace {

struct SystemImpl final : Runtime::Impl {
  absl::Status CreateDevice(int index, ComPtr<ID3D12Device>& device) const override {
    return OPSERVE_HRESULT(
        create_device(handles[index].Get(), D3D_FEATURE_LEVEL_11_0, IID_ID3D12Device,
                      reinterpret_cast<void**>(device.ReleaseAndGetAddressOf())));
  }

  std::optional<MemoryReport> MemoryOf(int index) const override {
    return MemoryOfSystemAdapter(*handles[index].Get());
  }

  PFN_D3D12_CREATE_DEVICE create_device = nullptr;
  // One per adapter.
  std::vector<ComPtr<IUnknown>> handles;
};

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

absl::StatusOr<std::shared_ptr<const Runtime>> Runtime::Load(const RuntimeLibraries& libraries) {
  const absl::StatusOr<SharedLibrary> knows_adapters =
      SharedLibrary::Load(NameOr(libraries.adapters, kSystemNames.adapters));
  if (!knows_adapters.ok()) return knows_adapters.status();
  const absl::StatusOr<SharedLibrary> direct3d =
      SharedLibrary::Load(NameOr(libraries.direct3d, kSystemNames.direct3d));
  if (!direct3d.ok()) return direct3d.status();

  auto impl = std::make_unique<SystemImpl>();
  impl->name = kSystemNames.runtime;
  OPSERVE_RETURN_IF_ERROR(direct3d->Find("D3D12CreateDevice", impl->create_device));
  OPSERVE_RETURN_IF_ERROR(
      direct3d->Find("D3D12SerializeRootSignature", impl->serialize_root_signature));
  absl::StatusOr<std::vector<SystemAdapter>> found = EnumerateSystemAdapters(*knows_adapters);
  if (!found.ok()) return found.status();
  for (SystemAdapter& adapter : *found) {
    adapter.info.runtime = kSystemNames.runtime;
    adapter.info.index = static_cast<int>(impl->adapters.size());
    impl->adapters.push_back(std::move(adapter.info));
    impl->handles.push_back(std::move(adapter.adapter));
  }
  return std::shared_ptr<const Runtime>(new Runtime(std::move(impl)));
}

}  // namespace opserve::d3d12
