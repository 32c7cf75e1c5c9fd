#include "server/d3d12/runtime.h"

#include <utility>

#include "server/d3d12/event.h"
#include "server/d3d12/hresult.h"
#include "server/d3d12/runtime_impl.h"

namespace opserve::d3d12 {
namespace {

// What libvkd3d calls when a fence reaches the value that an event waits for.
HRESULT SignalEvent(HANDLE event) {
  static_cast<Event*>(event)->Set();
  return 0;
}

absl::Status FindFunctions(const SharedLibrary& library, Runtime::Impl& impl) {
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_create_instance", impl.create_instance));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_instance_decref", impl.instance_decref));
  OPSERVE_RETURN_IF_ERROR(
      library.Find("vkd3d_instance_get_vk_instance", impl.instance_get_vk_instance));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_create_device", impl.create_device));
  return library.Find("vkd3d_serialize_root_signature", impl.serialize_root_signature);
}

}  // namespace

Runtime::Impl::~Impl() {
  if (instance != nullptr) instance_decref(instance);
}

absl::Status Runtime::Impl::CreateDevice(int index, ComPtr<ID3D12Device>& device) const {
  vkd3d::DeviceCreateInfo info;
  info.instance = instance;
  info.vk_physical_device = adapters[index].physical_device;
  // Devices are told apart by it.
  info.adapter_luid.LowPart = static_cast<DWORD>(index + 1);
  return OPSERVE_HRESULT(create_device(&info, IID_ID3D12Device,
                                       reinterpret_cast<void**>(device.ReleaseAndGetAddressOf())));
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  for (const VulkanAdapter& adapter : impl_->adapters) adapters_.push_back(adapter.info);
}

Runtime::~Runtime() = default;

absl::StatusOr<std::shared_ptr<const Runtime>> Runtime::Load(const RuntimeLibraries& libraries) {
  const absl::StatusOr<SharedLibrary> vulkan = SharedLibrary::Load(libraries.vulkan);
  if (!vulkan.ok()) return vulkan.status();
  OPSERVE_RETURN_IF_ERROR(CheckVulkanDriver(*vulkan));
  const absl::StatusOr<SharedLibrary> vkd3d_library = SharedLibrary::Load(libraries.vkd3d);
  if (!vkd3d_library.ok()) return vkd3d_library.status();

  auto impl = std::make_unique<Impl>();
  OPSERVE_RETURN_IF_ERROR(FindFunctions(*vkd3d_library, *impl));
  vkd3d::InstanceCreateInfo info;
  info.signal_event = &SignalEvent;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(impl->create_instance(&info, &impl->instance)));
  absl::StatusOr<std::vector<VulkanAdapter>> adapters =
      EnumerateVulkanAdapters(*vulkan, impl->instance_get_vk_instance(impl->instance));
  if (!adapters.ok()) return adapters.status();
  impl->adapters = *std::move(adapters);
  return std::shared_ptr<const Runtime>(new Runtime(std::move(impl)));
}

}  // namespace opserve::d3d12
