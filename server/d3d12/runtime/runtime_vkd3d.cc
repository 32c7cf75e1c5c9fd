// The run time that is libvkd3d over Vulkan.

#include <optional>
#include <string>
#include <utility>

#include "server/d3d12/runtime/event.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/runtime_impl.h"
#include "server/d3d12/runtime/shared_library.h"
#include "server/d3d12/runtime/vkd3d_abi.h"
#include "server/d3d12/runtime/vulkan_adapters.h"
#include "server/d3d12/runtime/vulkan_memory.h"
#include "server/d3d12/runtime/vulkan_watch.h"

namespace opserve::d3d12 {
namespace {

constexpr char kName[] = "vkd3d";

// What libvkd3d calls when a fence reaches the value that an event waits for.
HRESULT SignalEvent(HANDLE event) {
  static_cast<Event*>(event)->Set();
  return 0;
}

struct Vkd3dImpl final : Runtime::Impl {
  ~Vkd3dImpl() override {
    if (instance != nullptr) instance_decref(instance);
  }

  absl::Status FindFunctions(const SharedLibrary& library);
  absl::Status FindAdapters(const SharedLibrary& vulkan);
  absl::Status CreateDevice(int index, ComPtr<ID3D12Device>& device) const override;
  std::optional<MemoryReport> MemoryOf(int index) const override {
    return memory.ReportOf(physical_devices[index]);
  }
  uint64_t UntoldFailures() const override { return UntoldVulkanFailures(); }
  absl::Status LossOf(ID3D12Device& device) const override;
  bool WaitUntilIdle(ID3D12Device& device) const override;

  vkd3d::CreateInstance* create_instance = nullptr;
  vkd3d::InstanceDecref* instance_decref = nullptr;
  vkd3d::InstanceGetVkInstance* instance_get_vk_instance = nullptr;
  vkd3d::CreateDevice* create_device = nullptr;
  vkd3d::GetVkDevice* get_vk_device = nullptr;
  vkd3d::Instance* instance = nullptr;
  // A VkPhysicalDevice per adapter.
  std::vector<void*> physical_devices;
  VulkanMemory memory;
};

absl::Status Vkd3dImpl::FindFunctions(const SharedLibrary& library) {
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_create_instance", create_instance));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_instance_decref", instance_decref));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_instance_get_vk_instance", instance_get_vk_instance));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_create_device", create_device));
  OPSERVE_RETURN_IF_ERROR(library.Find("vkd3d_get_vk_device", get_vk_device));
  return library.Find("vkd3d_serialize_root_signature", serialize_root_signature);
}

absl::Status Vkd3dImpl::FindAdapters(const SharedLibrary& vulkan) {
  absl::StatusOr<VulkanAdapters> found =
      EnumerateVulkanAdapters(vulkan, instance_get_vk_instance(instance));
  if (!found.ok()) return found.status();
  left_out = std::move(found->left_out);
  for (VulkanAdapter& adapter : found->usable) {
    adapter.info.runtime = kName;
    adapters.push_back(std::move(adapter.info));
    physical_devices.push_back(adapter.physical_device);
  }
  memory = VulkanMemory(vulkan, instance_get_vk_instance(instance), physical_devices);
  return absl::OkStatus();
}

absl::Status Vkd3dImpl::CreateDevice(int index, ComPtr<ID3D12Device>& device) const {
  vkd3d::DeviceCreateInfo info;
  info.instance = instance;
  info.vk_physical_device = physical_devices[index];
  // Devices are told apart by it.
  info.adapter_luid.LowPart = static_cast<DWORD>(index + 1);
  const uint64_t failures = UntoldFailures();
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(create_device(
      &info, IID_ID3D12Device, reinterpret_cast<void**>(device.ReleaseAndGetAddressOf()))));
  if (UntoldFailures() == failures) return absl::OkStatus();
  OPSERVE_RETURN_IF_ERROR(LossOf(*device.Get()));
  return absl::ResourceExhaustedError(
      "The device has no memory for what it begins with, as its run time did not tell.");
}

// libvkd3d knows of losses that it has found out itself, the driver of all others.
absl::Status Vkd3dImpl::LossOf(ID3D12Device& device) const {
  absl::Status told = VulkanLossOf(get_vk_device(&device));
  return told.ok() ? Runtime::Impl::LossOf(device) : told;
}

bool Vkd3dImpl::WaitUntilIdle(ID3D12Device& device) const {
  WaitForVulkanDevice(get_vk_device(&device));
  return true;
}

std::string NameOr(const std::string& given, const char* fallback) {
  return given.empty() ? fallback : given;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Runtime>> Runtime::Load(const RuntimeLibraries& libraries) {
  const absl::StatusOr<SharedLibrary> vulkan =
      SharedLibrary::Load(NameOr(libraries.adapters, "libvulkan.so.1"));
  if (!vulkan.ok()) return vulkan.status();
  OPSERVE_RETURN_IF_ERROR(CheckVulkanDriver(*vulkan));
  const absl::StatusOr<SharedLibrary> vkd3d_library =
      SharedLibrary::Load(NameOr(libraries.direct3d, "libvkd3d.so.1"));
  if (!vkd3d_library.ok()) return vkd3d_library.status();

  auto impl = std::make_unique<Vkd3dImpl>();
  impl->name = kName;
  OPSERVE_RETURN_IF_ERROR(impl->FindFunctions(*vkd3d_library));
  const absl::StatusOr<void*> watched = WatchVulkan(*vulkan);
  if (!watched.ok()) return watched.status();
  vkd3d::InstanceCreateInfo info;
  info.signal_event = &SignalEvent;
  info.vk_get_instance_proc_addr = *watched;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(impl->create_instance(&info, &impl->instance)));
  OPSERVE_RETURN_IF_ERROR(impl->FindAdapters(*vulkan));
  return std::shared_ptr<const Runtime>(new Runtime(std::move(impl)));
}

}  // namespace opserve::d3d12
