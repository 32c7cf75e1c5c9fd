// File: tests/bench/d3d12/bound_call.h
//
// One call with memory of its own on a device: its kernel, its transfers, each by itself.

#ifndef OPSERVE_TESTS_BENCH_D3D12_BOUND_CALL_H_
#define OPSERVE_TESTS_BENCH_D3D12_BOUND_CALL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/invocation.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/dispatch_pieces.h"
#include "tests/bench/d3d12/device_meter.h"
#include "tests/bench/kernel_call.h"

namespace opserve::bench {

// Of an operator that leaves no elements open. For one thread; must not outlive its meter.
class BoundCall {
 public:
  // With usual numbers as inputs, which the device has then.
  static absl::StatusOr<std::unique_ptr<BoundCall>> Create(DeviceMeter& meter,
                                                           std::shared_ptr<const Invocation> call);

  const d3d12::Dispatch& dispatch() const { return layout_.dispatches[0]; }
  const hlsl::KernelKey& kernel() const { return layout_.kernel; }
  // What the kernel reads and writes.
  uint64_t total_bytes() const { return buffers_.total_bytes; }
  // What goes up, and what comes down.
  uint64_t input_bytes() const { return layout_.input_buffer_bytes; }
  uint64_t result_bytes() const { return layout_.result_bytes; }

  // On the host: into the upload ring, and out of the readback ring.
  void FillRing();
  void EmptyRing();

  // The inputs to the device, and the result back, with nothing around them.
  void RecordCopyUp(ID3D12GraphicsCommandList& list) const;
  void RecordCopyDown(ID3D12GraphicsCommandList& list) const;
  // The inputs to the device, and ready for kernels.
  void RecordUpload(ID3D12GraphicsCommandList& list) const;
  // In place of that, where they are there since before this list: makes them ready.
  void RecordInputsThere(ID3D12GraphicsCommandList& list) const;
  // What all dispatches need; then the kernel, whole or a piece of it.
  void RecordKernelState(ID3D12GraphicsCommandList& list) const;
  void RecordPiece(ID3D12GraphicsCommandList& list, const d3d12::DispatchPiece& piece) const;
  void RecordKernel(ID3D12GraphicsCommandList& list) const;
  // The same where it reads what is in the upload ring, or writes into the readback ring, itself.
  void RecordKernelFromRing(ID3D12GraphicsCommandList& list) const;
  void RecordKernelIntoRing(ID3D12GraphicsCommandList& list) const;
  void RecordKernelBetweenRings(ID3D12GraphicsCommandList& list) const;
  // The result to the readback ring.
  void RecordReadback(ID3D12GraphicsCommandList& list) const;

 private:
  BoundCall(DeviceMeter& meter, std::shared_ptr<const Invocation> call)
      : meter_(meter), call_(std::move(call)), buffers_(*call_, Values::kUsual) {}
  absl::Status Initialize();
  // Where a kernel finds its inputs, and where it writes.
  struct Addresses {
    D3D12_GPU_VIRTUAL_ADDRESS inputs = 0;
    D3D12_GPU_VIRTUAL_ADDRESS output = 0;
  };
  Addresses OnDevice() const;
  Addresses InRings() const;
  void Record(ID3D12GraphicsCommandList& list, const d3d12::DispatchPiece& piece,
              const Addresses& addresses) const;
  void Record(ID3D12GraphicsCommandList& list, const Addresses& addresses) const;
  absl::Status MakePipeline();
  absl::Status MakeMemory();

  DeviceMeter& meter_;
  const std::shared_ptr<const Invocation> call_;
  CallBuffers buffers_;
  DeviceCall device_call_;
  d3d12::BatchLayout layout_;
  d3d12::ComPtr<ID3D12PipelineState> pipeline_;
  d3d12::ComPtr<ID3D12Resource> inputs_;
  d3d12::ComPtr<ID3D12Resource> output_;
  d3d12::StagingRing::Lease up_;
  d3d12::StagingRing::Lease down_;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_BOUND_CALL_H_
