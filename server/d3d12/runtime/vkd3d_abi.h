// File: server/d3d12/runtime/vkd3d_abi.h
//
// The part of libvkd3d's C interface that opserve uses, as of libvkd3d.so.1. Its own headers define
// the same Windows types as DirectX-Headers do and cannot be included beside them. The functions
// use the platform's convention; only COM methods use Microsoft's.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_VKD3D_ABI_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_VKD3D_ABI_H_

#include <cstddef>
#include <cstdint>

#include "server/d3d12/runtime/api.h"

namespace opserve::d3d12::vkd3d {

struct Instance;

enum class StructureType : int { kInstanceCreateInfo = 0, kDeviceCreateInfo = 1 };

// struct vkd3d_instance_create_info
struct InstanceCreateInfo {
  StructureType type = StructureType::kInstanceCreateInfo;
  const void* next = nullptr;
  HRESULT (*signal_event)(HANDLE event) = nullptr;
  void* (*create_thread)(void* (*main)(void*), void* data) = nullptr;  // optional
  HRESULT (*join_thread)(void* thread) = nullptr;                      // optional
  size_t wchar_size = sizeof(WCHAR);
  void* vk_get_instance_proc_addr = nullptr;  // optional
  const char* const* instance_extensions = nullptr;
  uint32_t instance_extension_count = 0;
};

// struct vkd3d_device_create_info
struct DeviceCreateInfo {
  StructureType type = StructureType::kDeviceCreateInfo;
  const void* next = nullptr;
  D3D_FEATURE_LEVEL minimum_feature_level = D3D_FEATURE_LEVEL_11_0;
  Instance* instance = nullptr;
  const InstanceCreateInfo* instance_create_info = nullptr;
  void* vk_physical_device = nullptr;
  const char* const* device_extensions = nullptr;
  uint32_t device_extension_count = 0;
  IUnknown* parent = nullptr;
  LUID adapter_luid = {};
};

using CreateInstance = HRESULT(const InstanceCreateInfo* info, Instance** instance);
using InstanceDecref = unsigned(Instance* instance);
using InstanceGetVkInstance = void*(Instance* instance);
using CreateDevice = HRESULT(const DeviceCreateInfo* info, REFIID iid, void** device);
using GetVkDevice = void*(ID3D12Device* device);

}  // namespace opserve::d3d12::vkd3d

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_VKD3D_ABI_H_
