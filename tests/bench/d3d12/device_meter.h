// File: tests/bench/d3d12/device_meter.h
//
// A Direct3D 12 device without the way that calls take through D3D12Device: what its queue, copies
// and kernels do by themselves. For benchmarks, which use the parts of server/d3d12 with it.

#ifndef OPSERVE_TESTS_BENCH_D3D12_DEVICE_METER_H_
#define OPSERVE_TESTS_BENCH_D3D12_DEVICE_METER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/d3d12/device.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/staging_ring.h"

namespace opserve::bench {

// Writes a part of a command list.
using Recorder = std::function<void(ID3D12GraphicsCommandList& list)>;

// How long anything may take that is waited for.
inline constexpr std::chrono::seconds kMeterTimeLimit{120};

// Seconds from `start` until now.
double SecondsSince(std::chrono::steady_clock::time_point start);

// Has `buffer` go from one state to another.
void RecordTransition(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer,
                      D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after);

// One adapter's device with a queue for kernels and copies, and one ring per direction. For one
// thread.
class DeviceMeter {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceMeter>> Create(
      std::shared_ptr<const d3d12::Runtime> runtime, int adapter);
  DeviceMeter(const DeviceMeter&) = delete;
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  const d3d12::Device& device() const { return *device_; }
  d3d12::Queue& queue() { return *queue_; }
  d3d12::StagingRing& upload() { return *upload_; }
  d3d12::StagingRing& readback() { return *readback_; }

  // Memory of the device for `bytes` bytes.
  absl::Status MakeBuffer(uint64_t bytes, d3d12::ComPtr<ID3D12Resource>& buffer) const;

  // Submits what `record` writes, and waits. Seconds from before it was recorded until the thread
  // knew of its end.
  absl::StatusOr<double> Submit(const Recorder& record);

 private:
  DeviceMeter() = default;

  std::unique_ptr<d3d12::Device> device_;
  std::unique_ptr<d3d12::Queue> queue_;
  std::unique_ptr<d3d12::StagingRing> upload_;
  std::unique_ptr<d3d12::StagingRing> readback_;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_DEVICE_METER_H_
