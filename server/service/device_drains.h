// File: server/service/device_drains.h
//
// Calls that wait until nothing runs on a device any more, which is set aside.

#ifndef OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_
#define OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "absl/status/status.h"
#include "proto/base/mutex.h"
#include "server/pool/device_pool.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Thread-safe. May be told of devices before there is a pool, and after.
class DeviceDrains {
 public:
  DeviceDrains() = default;
  DeviceDrains(const DeviceDrains&) = delete;
  DeviceDrains& operator=(const DeviceDrains&) = delete;

  // Ends a call, with OK, DEVICE_RESUMED or the error of a call that was given up, soon or at once.
  using Finish = std::function<void(UnaryCall& call, const absl::Status& status)>;

  // Calls `finish` once the device of that name, which was set aside, is idle, or with
  // DEVICE_RESUMED once it is no longer set aside; at once where it is so already. Given up with
  // the call. `pool` must outlive the call.
  void Wait(UnaryCall& call, const DevicePool& pool, const std::string& device, Finish finish);

  // Something has changed about devices: finishes those whose device is idle or was resumed.
  void Update();

 private:
  // A call that waits.
  class Waiter;
  struct Entry {
    // In the order in which they have come.
    uint64_t number;
    UnaryCall* call;
    const DevicePool* pool;
    std::string device;
    Finish finish;
    // Known once the wait is over.
    absl::Status end;
  };

  // Takes the call out of those that wait, and returns what finishes it; nullptr: it is not among
  // them, somebody finishes it.
  Finish Remove(const UnaryCall& call);

  Mutex mutex_;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Entry> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_
