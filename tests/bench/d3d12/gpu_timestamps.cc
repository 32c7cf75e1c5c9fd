#include "tests/bench/d3d12/gpu_timestamps.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::bench {
namespace {

// The same for all queues that kernels run on.
absl::StatusOr<uint64_t> TicksPerSecond(ID3D12Device& device) {
  D3D12_COMMAND_QUEUE_DESC desc{};
  desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
  d3d12::ComPtr<ID3D12CommandQueue> queue;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device.CreateCommandQueue(
      &desc, IID_ID3D12CommandQueue, reinterpret_cast<void**>(queue.GetAddressOf()))));
  UINT64 ticks = 0;
  const absl::Status told = OPSERVE_HRESULT(queue->GetTimestampFrequency(&ticks));
  if (told.ok() && ticks > 0) return ticks;
  return absl::UnimplementedError(absl::StrCat("The device has no clock. ", told.message()));
}

}  // namespace

absl::StatusOr<GpuTimestamps> GpuTimestamps::Create(DeviceMeter& meter, uint32_t count) {
  GpuTimestamps made;
  made.count_ = count;
  ID3D12Device& device = meter.device().api();
  const absl::StatusOr<uint64_t> ticks = TicksPerSecond(device);
  if (!ticks.ok()) return ticks.status();
  made.ticks_per_second_ = *ticks;
  const D3D12_QUERY_HEAP_DESC desc{D3D12_QUERY_HEAP_TYPE_TIMESTAMP, count, 0};
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device.CreateQueryHeap(
      &desc, IID_ID3D12QueryHeap, reinterpret_cast<void**>(made.heap_.GetAddressOf()))));
  absl::StatusOr<d3d12::StagingRing::Lease> lease =
      meter.readback().Acquire(count * sizeof(uint64_t), kMeterTimeLimit);
  if (!lease.ok()) return lease.status();
  made.ticks_ = *std::move(lease);
  return made;
}

void GpuTimestamps::Mark(ID3D12GraphicsCommandList& list, uint32_t mark) const {
  list.EndQuery(heap_.Get(), D3D12_QUERY_TYPE_TIMESTAMP, mark);
}

void GpuTimestamps::Resolve(ID3D12GraphicsCommandList& list) const {
  list.ResolveQueryData(heap_.Get(), D3D12_QUERY_TYPE_TIMESTAMP, 0, count_, ticks_.buffer(),
                        ticks_.offset());
}

double GpuTimestamps::Seconds(uint32_t begin, uint32_t end) const {
  uint64_t first = 0;
  uint64_t last = 0;
  std::memcpy(&first, ticks_.data() + begin * sizeof(first), sizeof(first));
  std::memcpy(&last, ticks_.data() + end * sizeof(last), sizeof(last));
  if (last <= first) return 0;
  return static_cast<double>(last - first) / static_cast<double>(ticks_per_second_);
}

}  // namespace opserve::bench
