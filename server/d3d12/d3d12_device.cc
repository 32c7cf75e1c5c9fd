#include "server/d3d12/d3d12_device.h"

#include <array>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/op_rows.h"
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

// The memory of one batch.
struct BatchMemory {
  StagingRing::Lease upload;
  StagingRing::Lease readback;
  BufferPool<Buffer>::Lease inputs;
  BufferPool<Buffer>::Lease outputs;
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

// `addresses`: of the buffers of inputs and of outputs.
void RecordDispatch(ID3D12GraphicsCommandList& list, const Dispatch& dispatch, int input_count,
                    bool is_strided, D3D12_GPU_VIRTUAL_ADDRESS inputs,
                    D3D12_GPU_VIRTUAL_ADDRESS outputs) {
  const std::array<uint32_t, kRootConstantCount> constants = {
      dispatch.block_count, dispatch.thread_count, dispatch.loop_count};
  list.SetComputeRoot32BitConstants(kRootConstants, kRootConstantCount, constants.data(), 0);
  for (int i = 0; i < input_count; ++i) {
    list.SetComputeRootShaderResourceView(kRootInputs + static_cast<UINT>(i),
                                          inputs + dispatch.bound.inputs[i]);
  }
  if (is_strided) list.SetComputeRootShaderResourceView(kRootPlan, inputs + dispatch.bound.plan);
  list.SetComputeRootUnorderedAccessView(kRootOutput, outputs + dispatch.bound.output);
  list.Dispatch(dispatch.group_count, 1, 1);
}

// One upload, the dispatches, one readback. Dispatches write different ranges, so nothing has to
// stand between them.
void Record(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
            ID3D12PipelineState& pipeline, const BatchLayout& layout, BatchMemory& memory) {
  ID3D12Resource* const inputs = memory.inputs->Get();
  ID3D12Resource* const outputs = memory.outputs->Get();
  list.CopyBufferRegion(inputs, 0, memory.upload.buffer(), memory.upload.offset(),
                        layout.input_buffer_bytes);
  Transition(list, inputs, D3D12_RESOURCE_STATE_COPY_DEST,
             D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
  list.SetComputeRootSignature(&root_signature);
  list.SetPipelineState(&pipeline);
  const int input_count = TraitsOf(layout.kernel.op).input_count();
  const bool is_strided = layout.kernel.layout == hlsl::LayoutClass::kStrided;
  for (const Dispatch& dispatch : layout.dispatches) {
    RecordDispatch(list, dispatch, input_count, is_strided, inputs->GetGPUVirtualAddress(),
                   outputs->GetGPUVirtualAddress());
  }
  Transition(list, outputs, D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
             D3D12_RESOURCE_STATE_COPY_SOURCE);
  list.CopyBufferRegion(memory.readback.buffer(), memory.readback.offset(), outputs, 0,
                        layout.result_bytes);
}

// The highest feature level of the device, "12_1".
absl::StatusOr<std::string> FeatureLevelOf(ID3D12Device& device) {
  constexpr std::array kLevels = {D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1,
                                  D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1,
                                  D3D_FEATURE_LEVEL_12_2};
  D3D12_FEATURE_DATA_FEATURE_LEVELS levels{kLevels.size(), kLevels.data(), D3D_FEATURE_LEVEL_11_0};
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(
      device.CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, &levels, sizeof(levels))));
  // 0xc100 is 12_1.
  const auto number = static_cast<unsigned>(levels.MaxSupportedFeatureLevel);
  return absl::StrCat(number >> 12, "_", number >> 8 & 15);
}

DeviceProfile ProfileOf(const AdapterInfo& adapter, const std::string& name,
                        const std::string& feature_level) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kGpu;
  profile.name = name.empty() ? absl::StrCat("d3d12/", adapter.name) : name;
  profile.description = adapter.name;
  profile.runtime = adapter.runtime;
  profile.driver = adapter.driver;
  profile.feature_level = feature_level;
  profile.memory_bytes = adapter.memory_bytes;
  profile.is_software = adapter.is_software;
  return profile;
}

// Whether there are kernels for every mode and layout.
bool HasKernels(const OpTraits& op, DataType lane) {
  for (int mode = 0; mode < op_rows::ModeCount(op); ++mode) {
    for (hlsl::LayoutClass layout : {hlsl::LayoutClass::kPacked, hlsl::LayoutClass::kStrided}) {
      if (hlsl::FindBlob({op.id, lane, mode, layout}) == nullptr) return false;
    }
  }
  return true;
}

absl::Status NoKernel(const hlsl::KernelKey& key, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("There is no GPU kernel for ", TraitsOf(key.op).name,
                                               " of ", NameOf(key.lane), why));
}

}  // namespace

struct D3D12Device::Impl {
  Impl(std::unique_ptr<Device> made, const DeviceOptions& limits, const std::string& feature_level)
      : options(limits),
        device(std::move(made)),
        profile(ProfileOf(device->adapter(), limits.name, feature_level)),
        buffers(
            limits.memory_budget,
            [this](uint64_t bytes) { return device->CreateBuffer(BufferKind::kDefault, bytes); }),
        pipelines([this](const std::byte* const& code) -> absl::StatusOr<Pipeline> {
          return device->CreatePipeline(codes.at(code));
        }) {
    for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
      codes.emplace(blob.code.data(), blob.code);
    }
    for (const OpTraits& op : OpTable()) {
      for (DataType lane : kAllDataTypes) SupportOf(op.id, lane) = HasKernels(op, lane);
    }
  }

  // Whether calls of the operator in this lane type can run; also for types that no operator takes.
  std::atomic<bool>& SupportOf(OpId op, DataType lane) {
    return support[static_cast<size_t>(op)][static_cast<size_t>(lane)];
  }
  absl::StatusOr<Pipeline> PipelineOf(const hlsl::KernelKey& key);
  // How long what is submitted now may take, with what is under way before it.
  std::chrono::nanoseconds TimeLimit() const {
    return HangLimit(options.timeout, profile.is_software, bytes_under_way);
  }
  absl::StatusOr<BatchMemory> TakeMemory(const BatchLayout& layout);
  // Submits and waits. `memory` is kept for ever where the device may still use it.
  absl::Status Execute(const BatchLayout& layout, ID3D12PipelineState& pipeline,
                       BatchMemory& memory);
  absl::Status Run(std::span<const DeviceCall> calls);

  const DeviceOptions options;
  const std::unique_ptr<Device> device;
  const DeviceProfile profile;
  std::array<std::array<std::atomic<bool>, kDataTypeCount>, op_rows::kRowCount> support{};
  // By code, which several kernels may share.
  std::map<const std::byte*, std::span<const std::byte>> codes;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<StagingRing> upload;
  std::unique_ptr<StagingRing> readback;
  BufferPool<Buffer> buffers;
  PipelineCache<const std::byte*, Pipeline> pipelines;
  // Bytes of the buffers of all batches that are submitted and not waited for.
  std::atomic<uint64_t> bytes_under_way = 0;
  Mutex mutex;
  std::vector<BatchMemory> abandoned ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<Pipeline> D3D12Device::Impl::PipelineOf(const hlsl::KernelKey& key) {
  const hlsl::Blob* const blob = hlsl::FindBlob(key);
  if (blob == nullptr) return NoKernel(key, ".");
  absl::StatusOr<Pipeline> pipeline = pipelines.Get(blob->code.data());
  if (!absl::IsInternal(pipeline.status())) return pipeline;
  // The driver refuses this kernel, now and later; that does not make the device a bad one.
  SupportOf(key.op, key.lane) = false;
  return NoKernel(key, absl::StrCat(" on this device: ", pipeline.status().message()));
}

absl::StatusOr<BatchMemory> D3D12Device::Impl::TakeMemory(const BatchLayout& layout) {
  BatchMemory memory;
  // Only the rings wait, and always in this order, so that no two batches wait for each other.
  absl::StatusOr<StagingRing::Lease> staging =
      upload->Acquire(layout.input_buffer_bytes, TimeLimit());
  if (!staging.ok()) return staging.status();
  memory.upload = *std::move(staging);
  staging = readback->Acquire(layout.result_bytes, TimeLimit());
  if (!staging.ok()) return staging.status();
  memory.readback = *std::move(staging);
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = buffers.Acquire(layout.input_buffer_bytes);
  if (!buffer.ok()) return buffer.status();
  memory.inputs = *std::move(buffer);
  buffer = buffers.Acquire(layout.output_buffer_bytes);
  if (!buffer.ok()) return buffer.status();
  memory.outputs = *std::move(buffer);
  return memory;
}

absl::Status D3D12Device::Impl::Execute(const BatchLayout& layout, ID3D12PipelineState& pipeline,
                                        BatchMemory& memory) {
  const uint64_t bytes = layout.input_buffer_bytes + layout.output_buffer_bytes;
  bytes_under_way += bytes;
  const absl::StatusOr<Serial> serial = queue->Submit(
      [&](ID3D12GraphicsCommandList& list) {
        Record(list, device->root_signature(), pipeline, layout, memory);
      },
      TimeLimit());
  absl::Status status = serial.status();
  if (serial.ok()) status = queue->timeline().Wait(*serial, TimeLimit());
  bytes_under_way -= bytes;
  if (absl::IsDeadlineExceeded(status) || (serial.ok() && !status.ok())) {
    status = absl::UnavailableError(absl::StrCat("The device is lost: ", status.message()));
  }
  if (absl::IsUnavailable(status)) {
    MutexLock lock(mutex);
    abandoned.push_back(std::move(memory));
  }
  return status;
}

absl::Status D3D12Device::Impl::Run(std::span<const DeviceCall> calls) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  if (calls[0].sequence != nullptr) {
    return absl::UnimplementedError("Sequences do not run on this kind of device.");
  }
  // A buffer of the pool may be a quarter larger than what it was asked for.
  const absl::StatusOr<BatchLayout> layout =
      LayOut(calls, device->adapter().max_buffer_bytes / 5 * 4);
  if (!layout.ok()) return layout.status();
  const absl::StatusOr<Pipeline> pipeline = PipelineOf(layout->kernel);
  if (!pipeline.ok()) return pipeline.status();
  absl::StatusOr<BatchMemory> memory = TakeMemory(*layout);
  if (!memory.ok()) {
    // A device that is lost in the meantime keeps its memory, which must not look like a shortage.
    OPSERVE_RETURN_IF_ERROR(device->status());
    return memory.status();
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    WriteInputs(*layout, i, calls[i], memory->upload.data());
  }
  OPSERVE_RETURN_IF_ERROR(Execute(*layout, *(*pipeline).Get(), *memory));
  for (size_t i = 0; i < calls.size(); ++i) {
    WriteResult(layout->places[i], calls[i], memory->readback.data());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<D3D12Device>> D3D12Device::Create(
    std::shared_ptr<const Runtime> runtime, int adapter, const DeviceOptions& options) {
  absl::StatusOr<std::unique_ptr<Device>> device = Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  const absl::StatusOr<std::string> feature_level = FeatureLevelOf((*device)->api());
  if (!feature_level.ok()) return feature_level.status();
  auto impl = std::make_unique<Impl>(*std::move(device), options, *feature_level);
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(*impl->device);
  if (!queue.ok()) return queue.status();
  impl->queue = *std::move(queue);
  for (auto [ring, kind] : {std::pair(&impl->upload, BufferKind::kUpload),
                            std::pair(&impl->readback, BufferKind::kReadback)}) {
    absl::StatusOr<std::unique_ptr<StagingRing>> made =
        StagingRing::Create(*impl->device, kind, options.staging_bytes, options.memory_budget);
    if (!made.ok()) return made.status();
    *ring = *std::move(made);
  }
  return std::unique_ptr<D3D12Device>(new D3D12Device(std::move(impl)));
}

D3D12Device::D3D12Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

D3D12Device::~D3D12Device() {
  Timeline& timeline = impl_->queue->timeline();
  // There is nothing to wait for on a lost device: either it is done or it never will be.
  const auto limit =
      impl_->device->status().ok() ? impl_->TimeLimit() : std::chrono::nanoseconds(0);
  const bool is_idle = timeline.Wait(timeline.last(), limit).ok();
  // Freeing what a hung device uses would be worse than leaking it.
  if (!is_idle) static_cast<void>(impl_.release());
}

const DeviceProfile& D3D12Device::profile() const { return impl_->profile; }

bool D3D12Device::Supports(OpId op, DataType lane) const { return impl_->SupportOf(op, lane); }

absl::Status D3D12Device::Run(std::span<const DeviceCall> calls) {
  absl::Status status = impl_->Run(calls);
  if (absl::IsUnavailable(status)) impl_->device->MarkLost(status);
  return status;
}

absl::Status D3D12Device::WarmUp() {
  for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
    const absl::Status status = impl_->PipelineOf(blob.key).status();
    if (absl::IsUnavailable(status)) impl_->device->MarkLost(status);
    if (!absl::IsUnimplemented(status)) OPSERVE_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status D3D12Device::status() const { return impl_->device->status(); }

uint64_t D3D12Device::pooled_bytes() const { return impl_->buffers.total_bytes(); }

std::chrono::nanoseconds HangLimit(std::chrono::nanoseconds fixed, bool is_software,
                                   uint64_t bytes) {
  return fixed + (is_software ? kSoftwareTimePerByte : kTimePerByte) * bytes;
}

}  // namespace opserve::d3d12
