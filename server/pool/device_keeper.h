// File: server/pool/device_keeper.h
//
// Brings devices into service: makes, tests and calibrates them, at start and after each loss.

#ifndef OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_
#define OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/pool/device_pool.h"
#include "server/pool/router.h"

namespace opserve {

// Thread-safe.
class DeviceKeeper {
 public:
  // All must outlive the keeper.
  DeviceKeeper(const Slots& slots, Router& router, const Clock& clock);

  // Brings all GPUs into service, those that can be.
  void Start();

  // Makes anew what is due. Returns when that is to be done again; kNever: not before a device is
  // lost.
  Clock::TimePoint Maintain();

  // See DevicePool::SelfTest.
  absl::StatusOr<std::vector<SelfTestResult>> SelfTest(absl::string_view device);

 private:
  void BringUp(DeviceSlot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CalibrateSlot(DeviceSlot& slot, ComputeDevice& device)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SelfTestResult TestServing(DeviceSlot& slot);

  const Slots& slots_;
  Router& router_;
  const Clock& clock_;

  // One device is brought up at a time.
  Mutex mutex_;
  bool is_processor_calibrated_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_testing_{false};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_KEEPER_H_
