// File: server/d3d12/device.h
//
// An ID3D12Device with the one root signature of all kernels, and whether it is lost. Internal to
// server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_DEVICE_H_
#define OPSERVE_SERVER_D3D12_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/hlsl/kernel_key.h"
#include "proto/base/mutex.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/runtime/memory_report.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::d3d12 {

// Parameters of the root signature; kernels/hlsl/render.h says what is bound to them.
enum RootParameter : UINT {
  kRootConstants = 0,
  kRootFirstResource = 1,  // that of register t0, and one more per further register
  kRootPlan = kRootFirstResource + hlsl::kPlanRegister,
  kRootOutput = kRootFirstResource + hlsl::kMaxKernelInputs + 1,
  kRootOpen = kRootOutput + 1,
  kRootParameterCount = kRootOpen + 1,
};
// Number of 32-bit values of kRootConstants: three numbers of the dispatch, the mark of the
// submission, the low halves of the attributes of the call, their high halves, and the types of
// numbers; and what fills the last four, as kernels declare whole vectors.
inline constexpr UINT kRootConstantCount = 16;
inline constexpr UINT kFirstAttribute = 4;
inline constexpr UINT kFirstHighAttribute = 8;
inline constexpr UINT kFirstNumberTypes = 12;

// The parameter of input `i`.
constexpr UINT RootInput(int i) {
  return kRootFirstResource + static_cast<UINT>(hlsl::InputRegister(i));
}

// What a buffer is for.
enum class BufferKind { kUpload, kReadback, kDefault };

// Thread-safe.
class Device {
 public:
  // `adapter`: a position in runtime->adapters().
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const Runtime> runtime,
                                                        int adapter);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ID3D12Device& api() const { return *device_.Get(); }
  ID3D12RootSignature& root_signature() const { return *root_signature_.Get(); }
  const AdapterInfo& adapter() const { return adapter_; }
  // Whether the adapter works in the machine's memory.
  bool shares_memory() const { return shares_memory_; }

  // A buffer of `bytes` bytes. Kernels can read all of them, and write those that are not of kind
  // kUpload.
  absl::StatusOr<ComPtr<ID3D12Resource>> CreateBuffer(BufferKind kind, uint64_t bytes) const;

  // A compute pipeline of the shader `code`.
  absl::StatusOr<ComPtr<ID3D12PipelineState>> CreatePipeline(std::span<const std::byte> code) const;

  // See Runtime::Impl.
  std::optional<MemoryReport> memory() const;
  uint64_t UntoldFailures() const;
  bool WaitUntilIdle() const;

  // OK, or UNAVAILABLE with why the device is lost: as MarkLost was told, else as the run time
  // says. A lost device never recovers.
  absl::Status status() const;
  // Declares the device lost; the first reason stays, with what the run time says of it.
  void MarkLost(const absl::Status& reason);

 private:
  Device(std::shared_ptr<const Runtime> runtime, int adapter)
      : runtime_(std::move(runtime)), adapter_(runtime_->adapters()[adapter]) {}
  absl::Status Initialize();

  // Outlives the device: it is destroyed after the members that follow.
  const std::shared_ptr<const Runtime> runtime_;
  const AdapterInfo adapter_;
  ComPtr<ID3D12Device> device_;
  ComPtr<ID3D12RootSignature> root_signature_;
  bool shares_memory_ = false;
  mutable Mutex mutex_;
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_DEVICE_H_
