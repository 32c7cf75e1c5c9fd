// File: server/pool/device_keeper.h
//
// Brings devices into service: makes, tests and calibrates them, while the others serve.

#ifndef OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_
#define OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/pool/device_pool.h"
#include "server/pool/router.h"

namespace opserve {

// Thread-safe, but Maintain is for one thread at a time. Holds no lock.
class DeviceKeeper {
 public:
  // All must outlive the keeper. `calibration_bytes`: see PoolOptions. `on_idle` is called where
  // the end of a test leaves a device idle, and somebody wants to know.
  DeviceKeeper(const Slots& slots, Router& router, const Clock& clock, Logger& logger,
               uint64_t calibration_bytes, std::function<void()> on_idle);

  // Makes what is due, one device after the other. Returns when that is to be done again; kNever:
  // not before a device is lost.
  Clock::TimePoint Maintain();

  // Has Maintain return soon, now and ever after: it begins no device and no run any more. A device
  // whose test is cut short stays in the state that it was in.
  void Stop() { is_stopped_ = true; }

  // See DevicePool::SelfTest.
  absl::StatusOr<std::vector<SelfTestResult>> SelfTest(absl::string_view device,
                                                       const std::atomic<bool>* stop);

 private:
  void BringUp(DeviceSlot& slot);
  // `start`: when its making began.
  void TestAndInstall(DeviceSlot& slot, std::unique_ptr<ComputeDevice> device,
                      Clock::TimePoint start);
  absl::Status CalibrateSlot(DeviceSlot& slot, ComputeDevice& device);
  // The status is CANCELLED where `*stop` cut the test short, which says nothing of the device.
  SelfTestResult TestServing(DeviceSlot& slot, const std::atomic<bool>* stop);
  SelfTestResult TestNow(DeviceSlot& slot, const std::atomic<bool>* stop);

  const Slots& slots_;
  Router& router_;
  const Clock& clock_;
  Logger& logger_;
  const uint64_t calibration_bytes_;
  const std::function<void()> on_idle_;
  // Used by the thread in Maintain alone.
  bool is_processor_calibrated_ = false;
  std::atomic<bool> is_stopped_{false};
  std::atomic<bool> is_testing_{false};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_
