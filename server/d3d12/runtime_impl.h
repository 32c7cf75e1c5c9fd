// File: server/d3d12/runtime_impl.h
//
// What Device needs of a Runtime. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_IMPL_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_IMPL_H_

#include <vector>

#include "absl/status/status.h"
#include "server/d3d12/runtime.h"
#include "server/d3d12/vkd3d_abi.h"
#include "server/d3d12/vulkan_adapters.h"

namespace opserve::d3d12 {

struct Runtime::Impl {
  vkd3d::CreateInstance* create_instance = nullptr;
  vkd3d::InstanceDecref* instance_decref = nullptr;
  vkd3d::InstanceGetVkInstance* instance_get_vk_instance = nullptr;
  vkd3d::CreateDevice* create_device = nullptr;
  vkd3d::SerializeRootSignature* serialize_root_signature = nullptr;
  vkd3d::Instance* instance = nullptr;
  std::vector<VulkanAdapter> adapters;

  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Makes a device of feature level 11_0 for adapters[index].
  absl::Status CreateDevice(int index, ComPtr<ID3D12Device>& device) const;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_IMPL_H_
