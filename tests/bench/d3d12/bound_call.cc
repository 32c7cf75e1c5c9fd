#include "tests/bench/d3d12/bound_call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/hlsl/blobs.h"
#include "server/d3d12/host_copy.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::bench {

absl::StatusOr<std::unique_ptr<BoundCall>> BoundCall::Create(
    DeviceMeter& meter, std::shared_ptr<const Invocation> call) {
  std::unique_ptr<BoundCall> made(new BoundCall(meter, std::move(call)));
  OPSERVE_RETURN_IF_ERROR(made->Initialize());
  return made;
}

absl::Status BoundCall::Initialize() {
  device_call_ = {call_.get(), {}, buffers_.output.data()};
  std::copy(buffers_.input_pointers.begin(), buffers_.input_pointers.end(),
            device_call_.inputs.begin());
  absl::StatusOr<d3d12::BatchLayout> layout =
      d3d12::LayOut({&device_call_, 1}, meter_.device().adapter().max_buffer_bytes);
  if (!layout.ok()) return layout.status();
  layout_ = *std::move(layout);
  OPSERVE_RETURN_IF_ERROR(MakePipeline());
  OPSERVE_RETURN_IF_ERROR(MakeMemory());
  FillRing();
  return meter_.Submit([this](ID3D12GraphicsCommandList& list) { RecordUpload(list); }).status();
}

absl::Status BoundCall::MakePipeline() {
  const hlsl::Blob* const blob = hlsl::FindBlob(layout_.kernel);
  if (blob == nullptr) return absl::UnimplementedError("There is no kernel.");
  absl::StatusOr<d3d12::ComPtr<ID3D12PipelineState>> pipeline =
      meter_.device().CreatePipeline(hlsl::CodeOf(*blob));
  if (!pipeline.ok()) return pipeline.status();
  pipeline_ = *std::move(pipeline);
  return absl::OkStatus();
}

absl::Status BoundCall::MakeMemory() {
  OPSERVE_RETURN_IF_ERROR(meter_.MakeBuffer(layout_.input_buffer_bytes, inputs_));
  OPSERVE_RETURN_IF_ERROR(meter_.MakeBuffer(layout_.output_buffer_bytes, output_));
  absl::StatusOr<d3d12::StagingRing::Lease> lease =
      meter_.upload().Acquire(layout_.input_buffer_bytes, kMeterTimeLimit);
  if (!lease.ok()) return lease.status();
  up_ = *std::move(lease);
  lease = meter_.readback().Acquire(layout_.output_buffer_bytes, kMeterTimeLimit);
  if (!lease.ok()) return lease.status();
  down_ = *std::move(lease);
  return absl::OkStatus();
}

void BoundCall::FillRing() {
  d3d12::HostCopies copies;
  d3d12::WriteInputs(layout_, 0, device_call_, up_.data(), copies);
  d3d12::CopyAll(copies);
}

void BoundCall::EmptyRing() {
  d3d12::HostCopies copies;
  d3d12::WriteResult(layout_.places[0], device_call_, down_.data(), copies);
  d3d12::CopyAll(copies);
}

void BoundCall::RecordCopyUp(ID3D12GraphicsCommandList& list) const {
  list.CopyBufferRegion(inputs_.Get(), 0, up_.buffer(), up_.offset(), layout_.input_buffer_bytes);
}

void BoundCall::RecordCopyDown(ID3D12GraphicsCommandList& list) const {
  list.CopyBufferRegion(down_.buffer(), down_.offset(), output_.Get(), 0,
                        layout_.output_buffer_bytes);
}

void BoundCall::RecordUpload(ID3D12GraphicsCommandList& list) const {
  RecordCopyUp(list);
  RecordTransition(list, inputs_.Get(), D3D12_RESOURCE_STATE_COPY_DEST,
                   D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
}

void BoundCall::RecordInputsThere(ID3D12GraphicsCommandList& list) const {
  RecordTransition(list, inputs_.Get(), D3D12_RESOURCE_STATE_COMMON,
                   D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
}

void BoundCall::RecordKernelState(ID3D12GraphicsCommandList& list) const {
  list.SetComputeRootSignature(&meter_.device().root_signature());
  list.SetPipelineState(pipeline_.Get());
}

BoundCall::Addresses BoundCall::OnDevice() const {
  return {inputs_->GetGPUVirtualAddress(), output_->GetGPUVirtualAddress()};
}

BoundCall::Addresses BoundCall::InRings() const {
  return {up_.buffer()->GetGPUVirtualAddress() + up_.offset(),
          down_.buffer()->GetGPUVirtualAddress() + down_.offset()};
}

void BoundCall::Record(ID3D12GraphicsCommandList& list, const d3d12::DispatchPiece& piece,
                       const Addresses& addresses) const {
  const d3d12::Dispatch& whole = dispatch();
  const std::array<uint32_t, d3d12::kRootConstantCount> constants = {
      piece.block_count, piece.thread_count, whole.loop_count};
  list.SetComputeRoot32BitConstants(d3d12::kRootConstants, d3d12::kRootConstantCount,
                                    constants.data(), 0);
  for (size_t i = 0; i < buffers_.inputs.size(); ++i) {
    list.SetComputeRootShaderResourceView(
        d3d12::RootInput(static_cast<int>(i)),
        addresses.inputs + whole.bound.inputs[i] + piece.inputs[i]);
  }
  if (kernel().layout == hlsl::LayoutClass::kStrided) {
    list.SetComputeRootShaderResourceView(d3d12::kRootPlan, addresses.inputs + whole.bound.plan);
  }
  list.SetComputeRootUnorderedAccessView(d3d12::kRootOutput,
                                         addresses.output + whole.bound.output + piece.output);
  list.Dispatch(piece.group_count, 1, 1);
}

void BoundCall::Record(ID3D12GraphicsCommandList& list, const Addresses& addresses) const {
  for (const d3d12::DispatchPiece& piece : d3d12::PiecesOf(kernel(), dispatch())) {
    Record(list, piece, addresses);
  }
}

void BoundCall::RecordPiece(ID3D12GraphicsCommandList& list,
                            const d3d12::DispatchPiece& piece) const {
  Record(list, piece, OnDevice());
}

void BoundCall::RecordKernel(ID3D12GraphicsCommandList& list) const { Record(list, OnDevice()); }

void BoundCall::RecordKernelFromRing(ID3D12GraphicsCommandList& list) const {
  Record(list, {InRings().inputs, OnDevice().output});
}

void BoundCall::RecordKernelIntoRing(ID3D12GraphicsCommandList& list) const {
  Record(list, {OnDevice().inputs, InRings().output});
}

void BoundCall::RecordKernelBetweenRings(ID3D12GraphicsCommandList& list) const {
  Record(list, InRings());
}

void BoundCall::RecordReadback(ID3D12GraphicsCommandList& list) const {
  RecordTransition(list, output_.Get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
                   D3D12_RESOURCE_STATE_COPY_SOURCE);
  RecordCopyDown(list);
}

}  // namespace opserve::bench
