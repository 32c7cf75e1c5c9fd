#include "tests/bench/d3d12/device_meter.h"

#include <utility>

#include "server/d3d12/runtime/hresult.h"

namespace opserve::bench {
namespace {

// Most staging memory; enough for the largest call that is measured.
constexpr uint64_t kStagingBytes = uint64_t{512} << 20;
constexpr uint64_t kRingBytes = uint64_t{64} << 20;

absl::StatusOr<std::unique_ptr<d3d12::StagingRing>> MakeRing(const d3d12::Device& device,
                                                             d3d12::BufferKind kind) {
  return d3d12::StagingRing::Create(device, kind, kRingBytes, kStagingBytes);
}

}  // namespace

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void RecordTransition(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer,
                      D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
  list.ResourceBarrier(1, &barrier);
}

absl::StatusOr<std::unique_ptr<DeviceMeter>> DeviceMeter::Create(
    std::shared_ptr<const d3d12::Runtime> runtime, int adapter) {
  std::unique_ptr<DeviceMeter> meter(new DeviceMeter);
  absl::StatusOr<std::unique_ptr<d3d12::Device>> device =
      d3d12::Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  meter->device_ = *std::move(device);
  absl::StatusOr<std::unique_ptr<d3d12::Queue>> queue = d3d12::Queue::Create(*meter->device_);
  if (!queue.ok()) return queue.status();
  meter->queue_ = *std::move(queue);
  auto ring = MakeRing(*meter->device_, d3d12::BufferKind::kUpload);
  if (!ring.ok()) return ring.status();
  meter->upload_ = *std::move(ring);
  ring = MakeRing(*meter->device_, d3d12::BufferKind::kReadback);
  if (!ring.ok()) return ring.status();
  meter->readback_ = *std::move(ring);
  return meter;
}

absl::Status DeviceMeter::MakeBuffer(uint64_t bytes, d3d12::ComPtr<ID3D12Resource>& buffer) const {
  absl::StatusOr<d3d12::ComPtr<ID3D12Resource>> made =
      device_->CreateBuffer(d3d12::BufferKind::kDefault, bytes);
  if (!made.ok()) return made.status();
  buffer = *std::move(made);
  return absl::OkStatus();
}

absl::StatusOr<double> DeviceMeter::Submit(const Recorder& record) {
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<d3d12::Serial> serial = queue_->Submit(record, kMeterTimeLimit);
  if (!serial.ok()) return serial.status();
  OPSERVE_RETURN_IF_ERROR(queue_->timeline().Wait(*serial, kMeterTimeLimit));
  return SecondsSince(start);
}

}  // namespace opserve::bench
