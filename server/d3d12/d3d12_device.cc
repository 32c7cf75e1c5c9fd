#include "server/d3d12/d3d12_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/hlsl/blobs.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/hresult.h"
#include "server/d3d12/pipeline_cache.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/staging_ring.h"

namespace opserve::d3d12 {
namespace {

using Buffer = ComPtr<ID3D12Resource>;
using Pipeline = ComPtr<ID3D12PipelineState>;

// The memory of one call.
struct CallMemory {
  StagingRing::Lease upload;
  StagingRing::Lease readback;
  BufferPool<Buffer>::Lease inputs;
  BufferPool<Buffer>::Lease output;
};

// Buffers return to the common state when a submission ends, and leave it by themselves when they
// are copied to or written; only what follows within a submission needs a barrier.
void Transition(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer,
                D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
  list.ResourceBarrier(1, &barrier);
}

// One upload, one dispatch, one readback.
void Record(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
            ID3D12PipelineState& pipeline, const Dispatch& dispatch, int input_count,
            CallMemory& memory) {
  ID3D12Resource* const inputs = memory.inputs->Get();
  ID3D12Resource* const output = memory.output->Get();
  list.CopyBufferRegion(inputs, 0, memory.upload.buffer(), memory.upload.offset(),
                        dispatch.input_buffer_bytes);
  Transition(list, inputs, D3D12_RESOURCE_STATE_COPY_DEST,
             D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
  list.SetComputeRootSignature(&root_signature);
  list.SetPipelineState(&pipeline);
  const std::array<uint32_t, kRootConstantCount> constants = {
      dispatch.block_count, dispatch.thread_count, dispatch.loop_count};
  list.SetComputeRoot32BitConstants(kRootConstants, kRootConstantCount, constants.data(), 0);
  const D3D12_GPU_VIRTUAL_ADDRESS address = inputs->GetGPUVirtualAddress();
  for (int i = 0; i < input_count; ++i) {
    list.SetComputeRootShaderResourceView(kRootInputs + static_cast<UINT>(i),
                                          address + dispatch.input_offsets[i]);
  }
  if (dispatch.kernel.layout == hlsl::LayoutClass::kStrided) {
    list.SetComputeRootShaderResourceView(kRootPlan, address + dispatch.plan_offset);
  }
  list.SetComputeRootUnorderedAccessView(kRootOutput, output->GetGPUVirtualAddress());
  list.Dispatch(dispatch.group_count, 1, 1);
  Transition(list, output, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
  list.CopyBufferRegion(memory.readback.buffer(), memory.readback.offset(), output, 0,
                        dispatch.result_bytes);
}

DeviceProfile ProfileOf(const AdapterInfo& adapter) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kGpu;
  profile.name = absl::StrCat("d3d12/", adapter.name);
  profile.description = adapter.name;
  profile.runtime = adapter.runtime;
  profile.driver = adapter.driver;
  profile.memory_bytes = adapter.memory_bytes;
  profile.is_software = adapter.is_software;
  return profile;
}

}  // namespace

struct D3D12Device::Impl {
  Impl(std::unique_ptr<Device> made, const DeviceOptions& limits)
      : options(limits),
        device(std::move(made)),
        profile(ProfileOf(device->adapter())),
        buffers(
            limits.memory_budget,
            [this](uint64_t bytes) { return device->CreateBuffer(BufferKind::kDefault, bytes); }),
        pipelines([this](const std::byte* const& code) -> absl::StatusOr<Pipeline> {
          return device->CreatePipeline(codes.at(code));
        }) {
    for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
      codes.emplace(blob.code.data(), blob.code);
    }
  }

  absl::StatusOr<CallMemory> TakeMemory(const Dispatch& dispatch);
  void Upload(const Invocation& invocation, const Dispatch& dispatch,
              std::span<const std::byte* const> inputs, std::byte* to) const;
  // Submits and waits. `memory` is kept for ever where the device may still use it.
  absl::Status Execute(const Dispatch& dispatch, ID3D12PipelineState& pipeline, int input_count,
                       CallMemory& memory);

  const DeviceOptions options;
  const std::unique_ptr<Device> device;
  const DeviceProfile profile;
  // By code, which several kernels may share.
  std::map<const std::byte*, std::span<const std::byte>> codes;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<StagingRing> upload;
  std::unique_ptr<StagingRing> readback;
  BufferPool<Buffer> buffers;
  PipelineCache<const std::byte*, Pipeline> pipelines;
  Mutex mutex;
  std::vector<CallMemory> abandoned ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<CallMemory> D3D12Device::Impl::TakeMemory(const Dispatch& dispatch) {
  CallMemory memory;
  // Only the rings wait, and always in this order, so that no two calls wait for each other.
  absl::StatusOr<StagingRing::Lease> staging =
      upload->Acquire(dispatch.input_buffer_bytes, options.timeout);
  if (!staging.ok()) return staging.status();
  memory.upload = *std::move(staging);
  staging = readback->Acquire(dispatch.result_bytes, options.timeout);
  if (!staging.ok()) return staging.status();
  memory.readback = *std::move(staging);
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = buffers.Acquire(dispatch.input_buffer_bytes);
  if (!buffer.ok()) return buffer.status();
  memory.inputs = *std::move(buffer);
  buffer = buffers.Acquire(dispatch.output_buffer_bytes);
  if (!buffer.ok()) return buffer.status();
  memory.output = *std::move(buffer);
  return memory;
}

void D3D12Device::Impl::Upload(const Invocation& invocation, const Dispatch& dispatch,
                               std::span<const std::byte* const> inputs, std::byte* to) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    std::memcpy(to + dispatch.input_offsets[i], inputs[i], invocation.input_bytes[i]);
  }
  if (dispatch.kernel.layout == hlsl::LayoutClass::kStrided) {
    WritePlan(invocation, dispatch, to + dispatch.plan_offset);
  }
}

absl::Status D3D12Device::Impl::Execute(const Dispatch& dispatch, ID3D12PipelineState& pipeline,
                                        int input_count, CallMemory& memory) {
  const absl::StatusOr<Serial> serial = queue->Submit(
      [&](ID3D12GraphicsCommandList& list) {
        Record(list, device->root_signature(), pipeline, dispatch, input_count, memory);
      },
      options.timeout);
  absl::Status status = serial.status();
  if (serial.ok()) status = queue->timeline().Wait(*serial, options.timeout);
  if (absl::IsDeadlineExceeded(status) || (serial.ok() && !status.ok())) {
    status = absl::UnavailableError(absl::StrCat("The device is lost: ", status.message()));
  }
  if (absl::IsUnavailable(status)) {
    device->MarkLost(status);
    MutexLock lock(mutex);
    abandoned.push_back(std::move(memory));
  }
  return status;
}

absl::StatusOr<std::unique_ptr<D3D12Device>> D3D12Device::Create(
    std::shared_ptr<const Runtime> runtime, int adapter, const DeviceOptions& options) {
  absl::StatusOr<std::unique_ptr<Device>> device = Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  auto impl = std::make_unique<Impl>(*std::move(device), options);
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(*impl->device);
  if (!queue.ok()) return queue.status();
  impl->queue = *std::move(queue);
  for (auto [ring, kind] : {std::pair(&impl->upload, BufferKind::kUpload),
                            std::pair(&impl->readback, BufferKind::kReadback)}) {
    absl::StatusOr<std::unique_ptr<StagingRing>> made =
        StagingRing::Create(*impl->device, kind, options.staging_bytes);
    if (!made.ok()) return made.status();
    *ring = *std::move(made);
  }
  return std::unique_ptr<D3D12Device>(new D3D12Device(std::move(impl)));
}

D3D12Device::D3D12Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

D3D12Device::~D3D12Device() {
  Timeline& timeline = impl_->queue->timeline();
  const bool is_idle = timeline.Wait(timeline.last(), impl_->options.timeout).ok();
  // Freeing what a hung device uses would be worse than leaking it.
  if (!is_idle) static_cast<void>(impl_.release());
}

const DeviceProfile& D3D12Device::profile() const { return impl_->profile; }

bool D3D12Device::Supports(OpId op, DataType lane) const {
  return hlsl::FindBlob({op, lane, 0, hlsl::LayoutClass::kPacked}) != nullptr;
}

absl::Status D3D12Device::Run(std::span<const DeviceCall> calls) {
  for (const DeviceCall& call : calls) {
    const auto inputs = static_cast<size_t>(TraitsOf(call.invocation->op).input_count());
    OPSERVE_RETURN_IF_ERROR(
        RunOne(*call.invocation, std::span(call.inputs).first(inputs), call.output));
  }
  return absl::OkStatus();
}

absl::Status D3D12Device::RunOne(const Invocation& invocation,
                                 std::span<const std::byte* const> inputs, std::byte* output) {
  OPSERVE_RETURN_IF_ERROR(impl_->device->status());
  // A buffer of the pool may be a quarter larger than what it was asked for.
  const absl::StatusOr<Dispatch> dispatch =
      LayOut(invocation, impl_->device->adapter().max_buffer_bytes / 5 * 4);
  if (!dispatch.ok()) return dispatch.status();
  const hlsl::Blob* const blob = hlsl::FindBlob(dispatch->kernel);
  if (blob == nullptr) {
    return absl::UnimplementedError(absl::StrCat("There is no GPU kernel for ",
                                                 TraitsOf(invocation.op).name, " of ",
                                                 NameOf(invocation.lane_type), "."));
  }
  const absl::StatusOr<Pipeline> pipeline = impl_->pipelines.Get(blob->code.data());
  if (!pipeline.ok()) return pipeline.status();
  absl::StatusOr<CallMemory> memory = impl_->TakeMemory(*dispatch);
  if (!memory.ok()) return memory.status();
  impl_->Upload(invocation, *dispatch, inputs, memory->upload.data());
  OPSERVE_RETURN_IF_ERROR(impl_->Execute(*dispatch, *(*pipeline).Get(),
                                         TraitsOf(invocation.op).input_count(), *memory));
  WriteResult(invocation, *dispatch, memory->readback.data(), output);
  return absl::OkStatus();
}

absl::Status D3D12Device::WarmUp() {
  for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
    OPSERVE_RETURN_IF_ERROR(impl_->pipelines.Get(blob.code.data()).status());
  }
  return absl::OkStatus();
}

absl::Status D3D12Device::status() const { return impl_->device->status(); }

uint64_t D3D12Device::pooled_bytes() const { return impl_->buffers.total_bytes(); }

}  // namespace opserve::d3d12
