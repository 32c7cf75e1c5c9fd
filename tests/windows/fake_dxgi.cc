#include "tests/windows/fake_dxgi.h"

// clang-format off
#include "server/d3d12/runtime/api.h"
#include <dxgi.h>
// clang-format on

#include <array>
#include <atomic>
#include <cwchar>

namespace {

constexpr auto kRemoved = static_cast<HRESULT>(0x887A0005);
constexpr auto kNoMore = static_cast<HRESULT>(0x887A0002);
constexpr UINT kAdapters = 4;

// By number, whatever their order is.
enum Number : UINT { kUnopened, kFirst, kUndescribed, kSecond };

int generation = 0;
bool is_reversed = false;
std::atomic<int> live_objects = 0;

// Counts references; what no test needs fails.
template <class Interface>
class Object : public Interface {
 public:
  Object() { ++live_objects; }

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void**) override { return E_NOINTERFACE; }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown*) override {
    return E_FAIL;
  }
  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE GetParent(REFIID, void**) override { return E_FAIL; }

 protected:
  virtual ~Object() { --live_objects; }

 private:
  std::atomic<ULONG> references_ = 1;
};

class Adapter final : public Object<IDXGIAdapter1> {
 public:
  Adapter(UINT number, int of) : number_(number), generation_(of) {}

  HRESULT STDMETHODCALLTYPE EnumOutputs(UINT, IDXGIOutput**) override { return kNoMore; }
  HRESULT STDMETHODCALLTYPE GetDesc(DXGI_ADAPTER_DESC*) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE CheckInterfaceSupport(REFGUID, LARGE_INTEGER*) override {
    return E_FAIL;
  }
  HRESULT STDMETHODCALLTYPE GetDesc1(DXGI_ADAPTER_DESC1* desc) override {
    if (number_ == kUndescribed) return E_FAIL;
    *desc = {};
    std::wcscpy(desc->Description, number_ == kFirst ? L"first" : L"second");
    if (number_ == kFirst) desc->AdapterLuid.LowPart = static_cast<DWORD>(100 + generation_);
    desc->DedicatedVideoMemory = size_t{4} << 30;
    return S_OK;
  }

  // Whether its factory is current.
  bool is_current() const { return generation_ == generation; }
  UINT number() const { return number_; }

 private:
  const UINT number_;
  const int generation_;
};

class Factory final : public Object<IDXGIFactory1> {
 public:
  HRESULT STDMETHODCALLTYPE EnumAdapters(UINT, IDXGIAdapter**) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE MakeWindowAssociation(HWND, UINT) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE GetWindowAssociation(HWND*) override { return E_FAIL; }
  HRESULT STDMETHODCALLTYPE CreateSwapChain(IUnknown*, DXGI_SWAP_CHAIN_DESC*,
                                            IDXGISwapChain**) override {
    return E_FAIL;
  }
  HRESULT STDMETHODCALLTYPE CreateSoftwareAdapter(HMODULE, IDXGIAdapter**) override {
    return E_FAIL;
  }
  HRESULT STDMETHODCALLTYPE EnumAdapters1(UINT place, IDXGIAdapter1** adapter) override {
    if (place >= kAdapters) return kNoMore;
    const UINT number = is_reversed ? kAdapters - 1 - place : place;
    if (number == kUnopened) return E_FAIL;
    *adapter = new Adapter(number, generation_);
    return S_OK;
  }
  WINBOOL STDMETHODCALLTYPE IsCurrent() override { return generation_ == generation; }

 private:
  const int generation_ = generation;
};

}  // namespace

extern "C" void FakeDxgiReset() {
  ++generation;
  is_reversed = false;
}

extern "C" void FakeDxgiUpdateDriver() {
  ++generation;
  is_reversed = !is_reversed;
}

extern "C" int FakeDxgiLiveObjects() { return live_objects; }

extern "C" HRESULT WINAPI CreateDXGIFactory1(REFIID, void** factory) {
  *factory = static_cast<IDXGIFactory1*>(new Factory);
  return S_OK;
}

extern "C" HRESULT WINAPI D3D12CreateDevice(IUnknown* unknown, D3D_FEATURE_LEVEL, REFIID, void**) {
  const auto& adapter = *static_cast<Adapter*>(static_cast<IDXGIAdapter1*>(unknown));
  if (!adapter.is_current()) return kRemoved;
  return adapter.number() == kFirst ? E_FAIL : E_NOINTERFACE;
}

extern "C" HRESULT WINAPI D3D12SerializeRootSignature(const D3D12_ROOT_SIGNATURE_DESC*,
                                                      D3D_ROOT_SIGNATURE_VERSION, ID3DBlob**,
                                                      ID3DBlob**) {
  return E_FAIL;
}
