// File: server/device/cpu_device.h
//
// The processor as a ComputeDevice.

#ifndef OPSERVE_SERVER_DEVICE_CPU_DEVICE_H_
#define OPSERVE_SERVER_DEVICE_CPU_DEVICE_H_

#include <span>

#include "kernels/cpu/cpu_executor.h"
#include "server/device/compute_device.h"

namespace opserve {

// Runs calls with opserve's SIMD kernels, one after the other. Thread-safe.
class CpuDevice final : public ComputeDevice {
 public:
  // `threads`: as for CpuExecutor; 0 takes one per processor.
  explicit CpuDevice(int threads);

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId, DataType) const override { return true; }
  // Always OK.
  absl::Status Run(std::span<const DeviceCall> calls) override;

 private:
  const CpuExecutor executor_;
  const DeviceProfile profile_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_CPU_DEVICE_H_
