// File: tests/integration/failing_device.h
//
// A processor that fails after a while.

#ifndef OPSERVE_TESTS_INTEGRATION_FAILING_DEVICE_H_
#define OPSERVE_TESTS_INTEGRATION_FAILING_DEVICE_H_

#include <atomic>
#include <span>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "server/device/cpu/cpu_device.h"

namespace opserve::testing {

// Computes a few runs, and refuses all that come later. Thread-safe.
class FailingDevice final : public ComputeDevice {
 public:
  explicit FailingDevice(int good_runs) : left_(good_runs) {}
  const DeviceProfile& profile() const override { return cpu_.profile(); }
  bool Supports(OpId, DataType) const override { return true; }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    if (left_-- <= 0) return absl::InternalError("the device has had enough");
    return cpu_.Run(calls);
  }

 private:
  std::atomic<int> left_;
  CpuDevice cpu_{1};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_FAILING_DEVICE_H_
