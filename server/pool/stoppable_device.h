// File: server/pool/stoppable_device.h
//
// A device whose test or measurement ends early when the pool does, or when nobody waits for it any
// more.

#ifndef OPSERVE_SERVER_POOL_STOPPABLE_DEVICE_H_
#define OPSERVE_SERVER_POOL_STOPPABLE_DEVICE_H_

#include <atomic>

#include "server/device/compute_device.h"

namespace opserve {

// Passes everything on to `device`; once `*stop`, runs fail with CANCELLED instead; nullptr: never.
// Both must outlive it. Thread-safe.
class StoppableDevice final : public ComputeDevice {
 public:
  StoppableDevice(ComputeDevice& device, const std::atomic<bool>* stop)
      : device_(device), stop_(stop) {}

  const DeviceProfile& profile() const override { return device_.profile(); }
  bool Supports(OpId op, DataType lane) const override { return device_.Supports(op, lane); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    if (stop_ != nullptr && *stop_) return absl::CancelledError("nobody waits for the results");
    return device_.Run(calls);
  }
  TransferCounters transfers() const override { return device_.transfers(); }

 private:
  ComputeDevice& device_;
  const std::atomic<bool>* const stop_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_STOPPABLE_DEVICE_H_
