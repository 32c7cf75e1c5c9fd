#include "tests/modules/fake_wsl.h"

// The headers as WSL's own libraries use them, without server/d3d12/runtime/api.h: what it says of
// their convention is under test. The first one defines what the others need.
// clang-format off
#include <wsl/winadapter.h>
#include <directx/d3d12.h>
#include <directx/dxcore_interface.h>
// clang-format on

#include <algorithm>
#include <atomic>
#include <cstring>

namespace {

constexpr auto kInvalidArgument = static_cast<HRESULT>(0x80070057);
constexpr auto kNoInterface = static_cast<HRESULT>(0x80004002);
constexpr auto kFail = static_cast<HRESULT>(0x80004005);

int adapter_count = 0;
std::atomic<int> live_objects = 0;

// Counts references.
template <class Interface>
class Object : public Interface {
 public:
  Object() { ++live_objects; }

  HRESULT QueryInterface(REFIID, void**) override { return kNoInterface; }
  ULONG AddRef() override { return ++references_; }
  ULONG Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }

 protected:
  virtual ~Object() { --live_objects; }

 private:
  std::atomic<ULONG> references_ = 1;
};

template <class T>
HRESULT Copy(const T& value, size_t size, void* data) {
  if (size < sizeof(value)) return kInvalidArgument;
  std::memcpy(data, &value, sizeof(value));
  return 0;
}

class Adapter final : public Object<IDXCoreAdapter> {
 public:
  explicit Adapter(bool is_hardware) : is_hardware_(is_hardware) {}

  bool IsValid() override { return true; }
  bool IsAttributeSupported(REFGUID) override { return true; }
  bool IsPropertySupported(DXCoreAdapterProperty) override { return true; }
  HRESULT GetProperty(DXCoreAdapterProperty property, size_t size, void* data) override {
    switch (property) {
      case DXCoreAdapterProperty::DriverDescription:
        if (size < NameBytes()) return kInvalidArgument;
        std::memcpy(data, Name(), NameBytes());
        return 0;
      case DXCoreAdapterProperty::DriverVersion:
        return Copy(uint64_t{31} << 48 | uint64_t{15} << 16 | 3623, size, data);
      case DXCoreAdapterProperty::HardwareID:
        return Copy(DXCoreHardwareID{0x10DE, 0x2330, 1, 2}, size, data);
      case DXCoreAdapterProperty::IsHardware:
        return Copy(is_hardware_, size, data);
      case DXCoreAdapterProperty::IsIntegrated:
        return Copy(false, size, data);
      case DXCoreAdapterProperty::DedicatedAdapterMemory:
        return Copy(uint64_t{4} << 30, size, data);
      case DXCoreAdapterProperty::SharedSystemMemory:
        return Copy(uint64_t{256} << 20, size, data);
      default:
        return kInvalidArgument;
    }
  }
  HRESULT GetPropertySize(DXCoreAdapterProperty, size_t* size) override {
    *size = NameBytes();
    return 0;
  }
  bool IsQueryStateSupported(DXCoreAdapterState) override { return false; }
  HRESULT QueryState(DXCoreAdapterState, size_t, const void*, size_t, void*) override {
    return kFail;
  }
  bool IsSetStateSupported(DXCoreAdapterState) override { return false; }
  HRESULT SetState(DXCoreAdapterState, size_t, const void*, size_t, const void*) override {
    return kFail;
  }
  HRESULT GetFactory(REFIID, void**) override { return kFail; }

 private:
  const char* Name() const { return is_hardware_ ? "A GPU" : "A processor"; }
  size_t NameBytes() const { return std::strlen(Name()) + 1; }

  const bool is_hardware_;
};

class AdapterList final : public Object<IDXCoreAdapterList> {
 public:
  HRESULT GetAdapter(uint32_t index, REFIID iid, void** adapter) override {
    if (index >= GetAdapterCount() || iid != IID_IDXCoreAdapter) return kInvalidArgument;
    *adapter = new Adapter(/*is_hardware=*/index == 0);
    return 0;
  }
  uint32_t GetAdapterCount() override { return static_cast<uint32_t>(adapter_count); }
  bool IsStale() override { return false; }
  HRESULT GetFactory(REFIID, void**) override { return kFail; }
  HRESULT Sort(uint32_t, const DXCoreAdapterPreference*) override { return kFail; }
  bool IsAdapterPreferenceSupported(DXCoreAdapterPreference) override { return false; }
};

class Factory final : public Object<IDXCoreAdapterFactory> {
 public:
  HRESULT CreateAdapterList(uint32_t count, const GUID* attributes, REFIID iid,
                            void** list) override {
    const bool asks_for_graphics =
        count == 1 && *attributes == DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS;
    if (!asks_for_graphics || iid != IID_IDXCoreAdapterList) return kInvalidArgument;
    *list = new AdapterList;
    return 0;
  }
  HRESULT GetAdapterByLuid(const LUID&, REFIID, void**) override { return kFail; }
  bool IsNotificationTypeSupported(DXCoreNotificationType) override { return false; }
  HRESULT RegisterEventNotification(IUnknown*, DXCoreNotificationType,
                                    PFN_DXCORE_NOTIFICATION_CALLBACK, void*, uint32_t*) override {
    return kFail;
  }
  HRESULT UnregisterEventNotification(uint32_t) override { return kFail; }
};

}  // namespace

extern "C" void FakeWslSetAdapterCount(int count) { adapter_count = count; }

extern "C" int FakeWslLiveObjects() { return live_objects; }

extern "C" HRESULT DXCoreCreateAdapterFactory(REFIID iid, void** factory) {
  if (adapter_count < 0) return kFail;
  if (iid != IID_IDXCoreAdapterFactory) return kInvalidArgument;
  *factory = new Factory;
  return 0;
}

// Has no devices: the answer tells that the right adapter arrived.
extern "C" HRESULT D3D12CreateDevice(IUnknown* adapter, D3D_FEATURE_LEVEL level, REFIID, void**) {
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
