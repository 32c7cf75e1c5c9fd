#include "tests/modules/fake_dxcore.h"

// The headers as WSL's own libraries use them, without server/d3d12/runtime/api.h: what it says of
// their convention is under test, unless devices are to be those of libvkd3d. The first one defines
// what the others need.
// clang-format off
#ifdef OPSERVE_FAKE_OVER_VKD3D
#include "server/d3d12/runtime/api.h"
#else
#include <wsl/winadapter.h>
#include <directx/d3d12.h>
#endif
#include <directx/dxcore_interface.h>
// clang-format on

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

namespace {

constexpr auto kInvalidArgument = static_cast<HRESULT>(0x80070057);
constexpr auto kNoInterface = static_cast<HRESULT>(0x80004002);
constexpr auto kFail = static_cast<HRESULT>(0x80004005);

using opserve::testing::AdapterOddity;

constexpr int kMostAdapters = 3;

// What the machine has. Tests change it while nobody asks.
struct Machine {
  int adapters = 0;
  std::array<AdapterOddity, kMostAdapters> oddities{};
  // Grows with each update of the driver, which objects of before do not survive.
  int generation = 0;
  DWORD first_luid = 1;
  bool is_reversed = false;
};
Machine machine;
std::atomic<int> live_objects = 0;

// Counts references.
template <class Interface>
class Object : public Interface {
 public:
  Object() { ++live_objects; }

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void**) override { return kNoInterface; }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
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
  // `number`: which of the machine's, whatever place it has in a list.
  explicit Adapter(int number) : number_(number) {}

  // "Of no more use" is all that real adapters say after an update, too.
  bool STDMETHODCALLTYPE IsValid() override { return generation_ == machine.generation; }
  bool STDMETHODCALLTYPE IsAttributeSupported(REFGUID) override { return true; }
  bool STDMETHODCALLTYPE IsPropertySupported(DXCoreAdapterProperty) override { return true; }
  HRESULT STDMETHODCALLTYPE GetProperty(DXCoreAdapterProperty property, size_t size,
                                        void* data) override {
    switch (property) {
      case DXCoreAdapterProperty::InstanceLuid:
        if (Is(AdapterOddity::kNoLuid)) return kFail;
        return Copy(LUID{machine.first_luid + static_cast<DWORD>(number_), 0}, size, data);
      case DXCoreAdapterProperty::DriverDescription:
        if (size < NameBytes()) return kInvalidArgument;
        std::memcpy(data, Name(), NameBytes());
        return 0;
      case DXCoreAdapterProperty::DriverVersion:
        if (Is(AdapterOddity::kNoDriverVersion)) return kFail;
        return Copy(uint64_t{31} << 48 | uint64_t{15} << 16 | 3623, size, data);
      case DXCoreAdapterProperty::HardwareID:
        return Copy(DXCoreHardwareID{0x10DE, 0x2330, 1, 2}, size, data);
      case DXCoreAdapterProperty::IsHardware:
        return Copy(is_hardware(), size, data);
      case DXCoreAdapterProperty::IsIntegrated:
        return Copy(false, size, data);
      case DXCoreAdapterProperty::DedicatedAdapterMemory:
        if (Is(AdapterOddity::kMuchMemory)) {
          return Copy(std::numeric_limits<uint64_t>::max(), size, data);
        }
        return Copy(uint64_t{4} << 30, size, data);
      case DXCoreAdapterProperty::SharedSystemMemory:
        return Copy(uint64_t{256} << 20, size, data);
      default:
        return kInvalidArgument;
    }
  }
  HRESULT STDMETHODCALLTYPE GetPropertySize(DXCoreAdapterProperty, size_t* size) override {
    if (Is(AdapterOddity::kNoDescription)) return kFail;
    *size =
        Is(AdapterOddity::kHugeDescription) ? std::numeric_limits<size_t>::max() / 2 : NameBytes();
    return 0;
  }
  bool STDMETHODCALLTYPE IsQueryStateSupported(DXCoreAdapterState) override { return false; }
  HRESULT STDMETHODCALLTYPE QueryState(DXCoreAdapterState, size_t, const void*, size_t,
                                       void*) override {
    return kFail;
  }
  bool STDMETHODCALLTYPE IsSetStateSupported(DXCoreAdapterState) override { return false; }
  HRESULT STDMETHODCALLTYPE SetState(DXCoreAdapterState, size_t, const void*, size_t,
                                     const void*) override {
    return kFail;
  }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID, void**) override { return kFail; }

 private:
  bool STDMETHODCALLTYPE Is(AdapterOddity oddity) const {
    return machine.oddities[static_cast<size_t>(number_)] == oddity;
  }
  bool is_hardware() const { return number_ == 0; }
  const char* Name() const { return is_hardware() ? "A GPU" : "A processor"; }
  size_t NameBytes() const { return std::strlen(Name()) + 1; }

  const int number_;
  const int generation_ = machine.generation;
};

class AdapterList final : public Object<IDXCoreAdapterList> {
 public:
  HRESULT STDMETHODCALLTYPE GetAdapter(uint32_t index, REFIID iid, void** adapter) override {
    if (index >= GetAdapterCount() || iid != IID_IDXCoreAdapter) return kInvalidArgument;
    const int place = static_cast<int>(index);
    const int number = machine.is_reversed ? machine.adapters - 1 - place : place;
    if (machine.oddities[static_cast<size_t>(number)] == AdapterOddity::kVanished) return kFail;
    *adapter = new Adapter(number);
    return 0;
  }
  uint32_t STDMETHODCALLTYPE GetAdapterCount() override {
    return static_cast<uint32_t>(machine.adapters);
  }
  bool STDMETHODCALLTYPE IsStale() override { return generation_ != machine.generation; }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID, void**) override { return kFail; }
  HRESULT STDMETHODCALLTYPE Sort(uint32_t, const DXCoreAdapterPreference*) override {
    return kFail;
  }
  bool STDMETHODCALLTYPE IsAdapterPreferenceSupported(DXCoreAdapterPreference) override {
    return false;
  }

 private:
  const int generation_ = machine.generation;
};

class Factory final : public Object<IDXCoreAdapterFactory> {
 public:
  HRESULT STDMETHODCALLTYPE CreateAdapterList(uint32_t count, const GUID* attributes, REFIID iid,
                                              void** list) override {
    const bool asks_for_graphics =
        count == 1 && *attributes == DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS;
    if (!asks_for_graphics || iid != IID_IDXCoreAdapterList) return kInvalidArgument;
    *list = new AdapterList;
    return 0;
  }
  HRESULT STDMETHODCALLTYPE GetAdapterByLuid(const LUID&, REFIID, void**) override { return kFail; }
  bool STDMETHODCALLTYPE IsNotificationTypeSupported(DXCoreNotificationType) override {
    return false;
  }
  HRESULT STDMETHODCALLTYPE RegisterEventNotification(IUnknown*, DXCoreNotificationType,
                                                      PFN_DXCORE_NOTIFICATION_CALLBACK, void*,
                                                      uint32_t*) override {
    return kFail;
  }
  HRESULT STDMETHODCALLTYPE UnregisterEventNotification(uint32_t) override { return kFail; }
};

}  // namespace

extern "C" void FakeDxcoreReset(int count) {
  const int generation = machine.generation + 1;
  machine = Machine();
  machine.adapters = std::min(count, kMostAdapters);
  machine.generation = generation;
}

extern "C" void FakeDxcoreSetOddity(int adapter, AdapterOddity oddity) {
  machine.oddities[static_cast<size_t>(adapter)] = oddity;
}

extern "C" void FakeDxcoreUpdateDriver(bool has_new_luids) {
  ++machine.generation;
  machine.is_reversed = !machine.is_reversed;
  if (has_new_luids) machine.first_luid += 100;
}

extern "C" int FakeDxcoreLiveObjects() { return live_objects; }

extern "C" HRESULT DXCoreCreateAdapterFactory(REFIID iid, void** factory) {
  if (machine.adapters < 0) return kFail;
  if (iid != IID_IDXCoreAdapterFactory) return kInvalidArgument;
  *factory = new Factory;
  return 0;
}
