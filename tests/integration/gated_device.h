// File: tests/integration/gated_device.h
//
// A device whose calls tests hold back, so that requests stay queued for as long as a test needs.

#ifndef OPSERVE_TESTS_INTEGRATION_GATED_DEVICE_H_
#define OPSERVE_TESTS_INTEGRATION_GATED_DEVICE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "proto/base/mutex.h"
#include "server/device/cpu/cpu_device.h"

namespace opserve::testing {

// Computes like the processor while its gate is open, which it is at first. Thread-safe.
class GatedDevice final : public ComputeDevice {
 public:
  GatedDevice() {
    profile_.name = "gated";
    profile_.description = "processor behind a gate";
  }

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId, DataType) const override { return true; }
  absl::Status Run(std::span<const DeviceCall> calls) override;

  // Calls that start from now on wait until Open, but for the first `passing` of them.
  void Close(int passing = 0);
  void Open();

  // Waits until `count` calls stand at the closed gate. False after a minute.
  bool WaitForHeld(int count) const;

  // Number of calls that have computed something.
  int runs() const;

 private:
  CpuDevice cpu_{1};
  DeviceProfile profile_ = cpu_.profile();
  mutable Mutex mutex_;
  mutable CondVar changed_;
  // How many more calls pass while the gate is closed; nullopt: it is open.
  std::optional<int> passing_ ABSL_GUARDED_BY(mutex_);
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
  int runs_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The device as a server takes it; the test keeps it, for longer than the server.
inline std::shared_ptr<ComputeDevice> Borrow(ComputeDevice& device) {
  return std::shared_ptr<ComputeDevice>(std::shared_ptr<void>(), &device);
}

// Opens the gate when a test ends, however it ends, so that the server can stop.
class GateCloser {
 public:
  explicit GateCloser(GatedDevice& device, int passing = 0) : device_(device) {
    device_.Close(passing);
  }
  ~GateCloser() { device_.Open(); }
  GateCloser(const GateCloser&) = delete;
  GateCloser& operator=(const GateCloser&) = delete;

 private:
  GatedDevice& device_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_GATED_DEVICE_H_
