// File: server/pool/maintenance_thread.h
//
// A thread that does the same thing whenever it is time for it.

#ifndef OPSERVE_SERVER_POOL_MAINTENANCE_THREAD_H_
#define OPSERVE_SERVER_POOL_MAINTENANCE_THREAD_H_

#include <functional>
#include <thread>

#include "proto/base/mutex.h"
#include "server/base/clock.h"

namespace opserve {

// Wake may be called by any thread at any time, the rest by one at a time.
class MaintenanceThread {
 public:
  // `maintain` returns when it is to be called again; kNever: not before somebody wakes it.
  MaintenanceThread(const Clock& clock, std::function<Clock::TimePoint()> maintain);
  ~MaintenanceThread() { Stop(); }
  MaintenanceThread(const MaintenanceThread&) = delete;
  MaintenanceThread& operator=(const MaintenanceThread&) = delete;

  // Begins, with a first call. At most once.
  void Start();
  // Has it call `maintain` soon, once where it was woken several times meanwhile.
  void Wake();
  // Waits for the call of now, after which there is none.
  void Stop();

 private:
  // Waits until `until`, a wake-up, or the end; false at the end.
  bool WaitUntil(Clock::TimePoint until);

  const Clock& clock_;
  const std::function<Clock::TimePoint()> maintain_;
  Mutex mutex_;
  CondVar changed_;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_MAINTENANCE_THREAD_H_
