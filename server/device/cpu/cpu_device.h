// File: server/device/cpu/cpu_device.h
//
// The processor as a ComputeDevice.

#ifndef OPSERVE_SERVER_DEVICE_CPU_CPU_DEVICE_H_
#define OPSERVE_SERVER_DEVICE_CPU_CPU_DEVICE_H_

#include <span>

#include "kernels/cpu/cpu_executor.h"
#include "proto/base/host_buffers.h"
#include "server/device/compute_device.h"

namespace opserve {

// Runs calls with opserve's SIMD kernels, one after the other. Thread-safe.
class CpuDevice final : public ComputeDevice {
 public:
  // `threads`: as for CpuExecutor; 0 takes one per processor.
  explicit CpuDevice(int threads);

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId, DataType) const override { return true; }
  // OK, CANCELLED where a sequence was stopped, or what inputs failed with that did not come.
  // Throws std::bad_alloc where there is no memory for what a sequence keeps between its steps, or
  // for inputs that have to be brought together.
  absl::Status Run(std::span<const DeviceCall> calls) override;

 private:
  void RunOne(const DeviceCall& call);
  absl::Status RunArriving(const DeviceCall& call);
  absl::Status RunSequence(const SequenceCall& call);

  const CpuExecutor executor_;
  const DeviceProfile profile_;
  // What sequences keep between their steps, and inputs that come in pieces.
  HostBufferPool workspaces_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_CPU_CPU_DEVICE_H_
