#include "tests/bench/device_meter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/hlsl/blobs.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/staging_ring.h"
#include "tests/bench/kernel_call.h"
#include "tests/bench/measure.h"

namespace opserve::bench {
namespace {

using d3d12::BatchLayout;
using d3d12::BufferKind;
using d3d12::StagingRing;
using Resource = d3d12::ComPtr<ID3D12Resource>;
using Recorder = std::function<void(ID3D12GraphicsCommandList& list)>;

constexpr std::chrono::seconds kTimeLimit{120};
// Most staging memory; enough for the largest call that is measured.
constexpr uint64_t kStagingBytes = uint64_t{512} << 20;
constexpr int kRounds = 5;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Transition(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer,
                D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
  list.ResourceBarrier(1, &barrier);
}

}  // namespace

struct DeviceMeter::Impl {
  // Something that the device does again and again.
  struct Work {
    Recorder before = [](ID3D12GraphicsCommandList&) {};
    Recorder repeated;
  };

  // Seconds of one submission with `repeats` repetitions.
  absl::StatusOr<double> Submit(const Work& work, int repeats) {
    const auto start = std::chrono::steady_clock::now();
    const auto serial = queue->Submit(
        [&](ID3D12GraphicsCommandList& list) {
          work.before(list);
          for (int i = 0; i < repeats; ++i) work.repeated(list);
        },
        kTimeLimit);
    if (!serial.ok()) return serial.status();
    OPSERVE_RETURN_IF_ERROR(queue->timeline().Wait(*serial, kTimeLimit));
    return SecondsSince(start);
  }

  // Median seconds per repetition of each work; rounds take turns. What a submission costs is taken
  // off by the difference between many repetitions and one.
  absl::StatusOr<std::vector<double>> Measure(const std::vector<Work>& works, double seconds);

  std::unique_ptr<d3d12::Device> device;
  std::unique_ptr<d3d12::Queue> queue;
  std::unique_ptr<StagingRing> upload;
  std::unique_ptr<StagingRing> readback;
};

absl::StatusOr<std::vector<double>> DeviceMeter::Impl::Measure(const std::vector<Work>& works,
                                                               double seconds) {
  const double share = seconds / kRounds / static_cast<double>(works.size());
  std::vector<int> repeats;
  for (const Work& work : works) {
    absl::StatusOr<double> first = Submit(work, 1);
    if (first.ok()) first = Submit(work, 9);
    if (!first.ok()) return first.status();
    repeats.push_back(static_cast<int>(std::clamp(share / *first * 9, 4.0, 2000.0)));
  }
  std::vector<std::vector<double>> samples(works.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < works.size(); ++i) {
      const absl::StatusOr<double> one = Submit(works[i], 1);
      if (!one.ok()) return one.status();
      const absl::StatusOr<double> many = Submit(works[i], 1 + repeats[i]);
      if (!many.ok()) return many.status();
      samples[i].push_back((*many - *one) / repeats[i]);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& each : samples) medians.push_back(Median(each));
  return medians;
}

DeviceMeter::DeviceMeter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceMeter::~DeviceMeter() = default;

absl::StatusOr<std::unique_ptr<DeviceMeter>> DeviceMeter::Create(
    std::shared_ptr<const d3d12::Runtime> runtime, int adapter) {
  auto impl = std::make_unique<Impl>();
  absl::StatusOr<std::unique_ptr<d3d12::Device>> device =
      d3d12::Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  impl->device = *std::move(device);
  absl::StatusOr<std::unique_ptr<d3d12::Queue>> queue = d3d12::Queue::Create(*impl->device);
  if (!queue.ok()) return queue.status();
  impl->queue = *std::move(queue);
  for (auto [ring, kind] : {std::pair(&impl->upload, BufferKind::kUpload),
                            std::pair(&impl->readback, BufferKind::kReadback)}) {
    absl::StatusOr<std::unique_ptr<StagingRing>> made =
        StagingRing::Create(*impl->device, kind, uint64_t{64} << 20, kStagingBytes);
    if (!made.ok()) return made.status();
    *ring = *std::move(made);
  }
  return std::unique_ptr<DeviceMeter>(new DeviceMeter(std::move(impl)));
}

absl::StatusOr<KernelTimes> DeviceMeter::MeasureKernel(const Invocation& call, double seconds) {
  const CallBuffers buffers(call, Values::kUsual);
  DeviceCall device_call = {&call, {}, nullptr};
  std::copy(buffers.input_pointers.begin(), buffers.input_pointers.end(),
            device_call.inputs.begin());
  const absl::StatusOr<BatchLayout> layout =
      d3d12::LayOut({&device_call, 1}, impl_->device->adapter().max_buffer_bytes);
  if (!layout.ok()) return layout.status();
  const hlsl::Blob* const blob = hlsl::FindBlob(layout->kernel);
  if (blob == nullptr) return absl::UnimplementedError("There is no kernel.");
  const auto pipeline = impl_->device->CreatePipeline(hlsl::CodeOf(*blob));
  if (!pipeline.ok()) return pipeline.status();

  // A copy reads and writes half of the bytes each.
  KernelTimes times{.bytes = buffers.total_bytes};
  const uint64_t half = (buffers.total_bytes / 2 + 3) / 4 * 4;
  std::array<Resource, 4> memory;
  const std::array<uint64_t, 4> sizes = {layout->input_buffer_bytes, layout->output_buffer_bytes,
                                         half, half};
  for (size_t i = 0; i < memory.size(); ++i) {
    absl::StatusOr<Resource> made = impl_->device->CreateBuffer(BufferKind::kDefault, sizes[i]);
    if (!made.ok()) return made.status();
    memory[i] = *std::move(made);
  }
  absl::StatusOr<StagingRing::Lease> staging =
      impl_->upload->Acquire(layout->input_buffer_bytes, kTimeLimit);
  if (!staging.ok()) return staging.status();
  WriteInputs(*layout, 0, device_call, staging->data());
  const Impl::Work fill = {.repeated = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(memory[0].Get(), 0, staging->buffer(), staging->offset(), sizes[0]);
  }};
  if (const auto filled = impl_->Submit(fill, 1); !filled.ok()) return filled.status();

  const d3d12::Dispatch& dispatch = layout->dispatches[0];
  const d3d12::DispatchPiece piece = d3d12::PiecesOf(layout->kernel, dispatch).front();
  const Impl::Work kernel = {
      .before =
          [&](ID3D12GraphicsCommandList& list) {
            Transition(list, memory[0].Get(), D3D12_RESOURCE_STATE_COMMON,
                       D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
            list.SetComputeRootSignature(&impl_->device->root_signature());
            list.SetPipelineState((*pipeline).Get());
            const std::array<uint32_t, d3d12::kRootConstantCount> constants = {
                piece.block_count, piece.thread_count, dispatch.loop_count};
            list.SetComputeRoot32BitConstants(d3d12::kRootConstants, d3d12::kRootConstantCount,
                                              constants.data(), 0);
            for (UINT i = 0; i < buffers.inputs.size(); ++i) {
              list.SetComputeRootShaderResourceView(
                  d3d12::kRootInputs + i,
                  memory[0]->GetGPUVirtualAddress() + dispatch.bound.inputs[i]);
            }
            list.SetComputeRootUnorderedAccessView(d3d12::kRootOutput,
                                                   memory[1]->GetGPUVirtualAddress());
          },
      .repeated = [&](ID3D12GraphicsCommandList& list) { list.Dispatch(piece.group_count, 1, 1); }};
  const Impl::Work copy = {.repeated = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(memory[3].Get(), 0, memory[2].Get(), 0, half);
  }};
  const absl::StatusOr<std::vector<double>> medians = impl_->Measure({kernel, copy}, seconds);
  if (!medians.ok()) return medians.status();
  times.kernel = (*medians)[0];
  times.copy = (*medians)[1];
  return times;
}

absl::StatusOr<TransferTimes> DeviceMeter::MeasureTransfers(uint64_t bytes, double seconds) {
  absl::StatusOr<StagingRing::Lease> up = impl_->upload->Acquire(bytes, kTimeLimit);
  if (!up.ok()) return up.status();
  absl::StatusOr<StagingRing::Lease> down = impl_->readback->Acquire(bytes, kTimeLimit);
  if (!down.ok()) return down.status();
  const absl::StatusOr<Resource> memory = impl_->device->CreateBuffer(BufferKind::kDefault, bytes);
  if (!memory.ok()) return memory.status();
  const Impl::Work upload = {.repeated = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion((*memory).Get(), 0, up->buffer(), up->offset(), bytes);
  }};
  const Impl::Work readback = {.repeated = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(down->buffer(), down->offset(), (*memory).Get(), 0, bytes);
  }};
  Buffer from(bytes);
  Buffer to(bytes);
  // Both directions once, so that the pages of the rings are in memory.
  std::memcpy(up->data(), from.data(), bytes);
  const absl::StatusOr<std::vector<double>> device =
      impl_->Measure({upload, readback}, seconds / 2);
  if (!device.ok()) return device.status();
  const std::vector<double> host =
      MedianSeconds({{[&](int) { std::memcpy(to.data(), from.data(), bytes); }},
                     {[&](int) { std::memcpy(up->data(), from.data(), bytes); }},
                     {[&](int) { std::memcpy(to.data(), down->data(), bytes); }}},
                    {.repeats = kRounds, .batch_seconds = seconds / 2 / (3 * kRounds)});
  return TransferTimes{host[0], host[1], (*device)[0], (*device)[1], host[2]};
}

}  // namespace opserve::bench
