// File: server/service/device_drains.h
//
// Calls that wait until nothing runs on a device any more.

#ifndef OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_
#define OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_

#include <functional>
#include <list>
#include <string>

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

  // Ends a call, with OK or the error of a call that was given up, soon or at once.
  using Finish = std::function<void(UnaryCall& call, const absl::Status& status)>;

  // Calls `finish` once the device of that name, which is set aside, is idle; at once where it is.
  // Given up with the call. `pool` must outlive the call.
  void Wait(UnaryCall& call, const DevicePool& pool, const std::string& device, Finish finish);

  // Something has changed about devices.
  void Update();

 private:
  // A call that waits.
  class Waiter;
  struct Entry {
    UnaryCall* call;
    const DevicePool* pool;
    std::string device;
    Finish finish;
  };

  // Finishes those whose device is idle.
  void FinishIdle();
  // Takes the call out of those that wait, and returns what finishes it; nullptr: it is not among
  // them, somebody finishes it.
  Finish Remove(const UnaryCall& call);

  Mutex mutex_;
  std::list<Entry> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_DEVICE_DRAINS_H_
