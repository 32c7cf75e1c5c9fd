// File: server/metrics/device_history.h
//
// What has ailed the devices lately, for people who look after it is over.

#ifndef OPSERVE_SERVER_METRICS_DEVICE_HISTORY_H_
#define OPSERVE_SERVER_METRICS_DEVICE_HISTORY_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/base/mutex.h"
#include "server/pool/device_pool.h"

namespace opserve {

// A device that became suspect, lost or quarantined, or stayed so for another reason.
struct DeviceFault {
  absl::Time time;
  std::string device;
  DeviceState state = DeviceState::kReady;
  std::string reason;
};

// The latest faults, of which the oldest are forgotten. Thread-safe. Asks the pool with no lock
// held.
class DeviceHistory {
 public:
  static constexpr size_t kMostFaults = 50;

  // `now` tells the time, on any thread.
  explicit DeviceHistory(absl::Time (*now)() = &absl::Now) : now_(now) {}

  // Begins to look at `pool`, which must stay until Detach.
  void Attach(const DevicePool& pool);
  // Once this returns, the pool is not used any more.
  void Detach();
  // To be called after each change of a device's state. Does nothing while detached.
  void Update();

  // Takes what is new in the states of all devices. Update calls this.
  void Take(const std::vector<DeviceStatus>& devices);

  // The latest first.
  std::vector<DeviceFault> Latest() const;

 private:
  struct Seen {
    DeviceState state = DeviceState::kReady;
    std::string reason = {};
  };

  absl::Time (*const now_)();
  mutable Mutex mutex_;
  CondVar idle_;
  const DevicePool* pool_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Threads that ask the pool.
  int asking_ ABSL_GUARDED_BY(mutex_) = 0;
  // By the names of devices.
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);
  std::deque<DeviceFault> faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_DEVICE_HISTORY_H_
