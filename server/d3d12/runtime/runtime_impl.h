// File: server/d3d12/runtime/runtime_impl.h
//
// What Device needs of a Runtime. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_IMPL_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_IMPL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/memory_report.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::d3d12 {

// Free functions use the platform's convention in all run times; only COM methods differ.
struct Runtime::Impl {
  using SerializeRootSignature = HRESULT(const D3D12_ROOT_SIGNATURE_DESC* desc,
                                         D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                         ID3DBlob** error);

  Impl() = default;
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Makes a device of feature level 11_0 for adapters[index].
  virtual absl::Status CreateDevice(int index, ComPtr<ID3D12Device>& device) const = 0;

  // What the driver says of the memory of adapters[index] now; nullopt where it says nothing.
  virtual std::optional<MemoryReport> MemoryOf(int /*index*/) const { return std::nullopt; }

  // Failures so far, in the calling thread, that the methods of command lists and queues do not
  // tell of: a list in whose recording the number grew must not be executed, and one in whose
  // execution it grew was not.
  virtual uint64_t UntoldFailures() const { return 0; }

  // OK, or why the run time or its driver has said that the device is lost. Where a fence ends
  // because of the loss, it is known before that.
  virtual absl::Status LossOf(ID3D12Device& device) const {
    return OPSERVE_HRESULT(device.GetDeviceRemovedReason());
  }

  // Waits until nothing that was submitted to the device is under way, or the driver says that it
  // is lost; for ever where neither happens. No other thread may use the device. False where the
  // run time cannot wait for that.
  virtual bool WaitUntilIdle(ID3D12Device& /*device*/) const { return false; }

  const char* name = "";
  SerializeRootSignature* serialize_root_signature = nullptr;
  std::vector<AdapterInfo> adapters;
  std::vector<absl::Status> left_out;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_IMPL_H_
