// libd3d12.so as far as it goes without a device.

// clang-format off
#include <wsl/winadapter.h>
#include <directx/d3d12.h>
#include <directx/dxcore_interface.h>
// clang-format on

namespace {

constexpr auto kInvalidArgument = static_cast<HRESULT>(0x80070057);
constexpr auto kNoInterface = static_cast<HRESULT>(0x80004002);
constexpr auto kFail = static_cast<HRESULT>(0x80004005);
constexpr auto kRemoved = static_cast<HRESULT>(0x887A0005);

}  // namespace

// Has no devices: the answer tells that the right adapter arrived.
extern "C" HRESULT D3D12CreateDevice(IUnknown* adapter, D3D_FEATURE_LEVEL level, REFIID, void**) {
  if (!static_cast<IDXCoreAdapter*>(adapter)->IsValid()) return kRemoved;
  bool is_hardware = false;
  const HRESULT asked = static_cast<IDXCoreAdapter*>(adapter)->GetProperty(
      DXCoreAdapterProperty::IsHardware, sizeof(is_hardware), &is_hardware);
  if (asked < 0 || level != D3D_FEATURE_LEVEL_11_0) return kInvalidArgument;
  return is_hardware ? kFail : kNoInterface;
}

extern "C" HRESULT D3D12SerializeRootSignature(const D3D12_ROOT_SIGNATURE_DESC*,
                                               D3D_ROOT_SIGNATURE_VERSION, ID3DBlob**, ID3DBlob**) {
  return kFail;
}
