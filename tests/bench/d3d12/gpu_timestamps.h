// File: tests/bench/d3d12/gpu_timestamps.h
//
// The device's own clock between the commands of a list: timestamp queries of Direct3D 12.

#ifndef OPSERVE_TESTS_BENCH_D3D12_GPU_TIMESTAMPS_H_
#define OPSERVE_TESTS_BENCH_D3D12_GPU_TIMESTAMPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/bench/d3d12/device_meter.h"

namespace opserve::bench {

// Marks of one submission at a time. For one thread; must not outlive its meter.
class GpuTimestamps {
 public:
  // With `count` marks. UNIMPLEMENTED where the device has no clock.
  static absl::StatusOr<GpuTimestamps> Create(DeviceMeter& meter, uint32_t count);

  // Notes the time at which the device is done with all commands before this place.
  void Mark(ID3D12GraphicsCommandList& list, uint32_t mark) const;
  // Has all marks read back. Behind the last one.
  void Resolve(ID3D12GraphicsCommandList& list) const;
  // Seconds between two marks of a submission that is over; never negative.
  double Seconds(uint32_t begin, uint32_t end) const;

 private:
  GpuTimestamps() = default;

  uint32_t count_ = 0;
  uint64_t ticks_per_second_ = 0;
  d3d12::ComPtr<ID3D12QueryHeap> heap_;
  d3d12::StagingRing::Lease ticks_;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_GPU_TIMESTAMPS_H_
