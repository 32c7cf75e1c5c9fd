// File: tests/bench/device_meter.h
//
// What a Direct3D 12 adapter itself can do: kernels and copies on data that stays on the device,
// and transfers. For benchmarks; the parts of server/d3d12 without the way that calls take through
// them.

#ifndef OPSERVE_TESTS_BENCH_DEVICE_METER_H_
#define OPSERVE_TESTS_BENCH_DEVICE_METER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/invocation.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::bench {

// Seconds per run. A run of the kernel and one of the copy move as many bytes, `bytes`, read and
// written ones together.
struct KernelTimes {
  uint64_t bytes = 0;
  double kernel = 0;
  double copy = 0;
};

// Seconds for the same number of bytes.
struct TransferTimes {
  double host_copy = 0;   // memcpy from memory to memory
  double fill_ring = 0;   // memcpy into the upload ring
  double upload = 0;      // device: from the upload ring
  double readback = 0;    // device: into the readback ring
  double empty_ring = 0;  // memcpy out of the readback ring
};

// One adapter. For one thread.
class DeviceMeter {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceMeter>> Create(
      std::shared_ptr<const d3d12::Runtime> runtime, int adapter);
  ~DeviceMeter();
  DeviceMeter(const DeviceMeter&) = delete;
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  // The kernel of a packed call on usual numbers, run again and again within one submission, and
  // copies of the same number of bytes between two buffers of the device. Takes about `seconds`.
  absl::StatusOr<KernelTimes> MeasureKernel(const Invocation& call, double seconds);

  // Transfers of `bytes` bytes. Takes about `seconds`.
  absl::StatusOr<TransferTimes> MeasureTransfers(uint64_t bytes, double seconds);

 private:
  struct Impl;
  explicit DeviceMeter(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_DEVICE_METER_H_
