// File: tests/unit/server/pool/model_device.h
//
// A device that computes nothing and takes as long as a machine of given speeds would, by simulated
// time: for tests of what is expected of devices.

#ifndef OPSERVE_TESTS_UNIT_SERVER_POOL_MODEL_DEVICE_H_
#define OPSERVE_TESTS_UNIT_SERVER_POOL_MODEL_DEVICE_H_

#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {

// Speeds in bytes per nanosecond, which is GB/s.
struct ModelSpeeds {
  // From the call to the first byte, and back.
  Clock::Duration latency{};
  // For each kernel, beside its bytes.
  Clock::Duration per_kernel{};
  // Of the bus, each way; 0: the device works in the host's memory.
  double up = 0;
  double down = 0;
  // Of kernels.
  double memory = 1;
};

// What a run of these bytes takes.
Clock::Duration ModelTime(const ModelSpeeds& speeds, uint64_t up_bytes, uint64_t down_bytes,
                          uint64_t kernels, uint64_t kernel_bytes);

// Supports all that the processor does. Has what it has seen by its ContentId, and keeps results
// that may stay. Not thread-safe, as the clock is not.
class ModelDevice final : public ComputeDevice {
 public:
  // `clock` must outlive the device.
  ModelDevice(DeviceProfile profile, const ModelSpeeds& speeds, SimulatedClock& clock)
      : profile_(std::move(profile)), speeds_(speeds), clock_(clock) {}

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId /*op*/, DataType /*lane*/) const override { return true; }
  // Leaves the results as they are, and has the time pass.
  absl::Status Run(std::span<const DeviceCall> calls) override;

 private:
  const DeviceProfile profile_;
  const ModelSpeeds speeds_;
  SimulatedClock& clock_;
  std::set<ContentId> kept_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_POOL_MODEL_DEVICE_H_
