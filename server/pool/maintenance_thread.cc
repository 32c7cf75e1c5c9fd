#include "server/pool/maintenance_thread.h"

#include <utility>

#include "proto/base/named_thread.h"

namespace opserve {

MaintenanceThread::MaintenanceThread(const Clock& clock, std::function<Clock::TimePoint()> maintain)
    : clock_(clock), maintain_(std::move(maintain)) {}

void MaintenanceThread::Start() {
  thread_ = StartThread("maintenance", [this] {
    while (WaitUntil(maintain_())) {
    }
  });
}

void MaintenanceThread::Wake() {
  MutexLock lock(mutex_);
  is_woken_ = true;
  changed_.NotifyAll();
}

void MaintenanceThread::Stop() {
  {
    MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool MaintenanceThread::WaitUntil(Clock::TimePoint until) {
  MutexLock lock(mutex_);
  while (!is_stopping_ && !is_woken_) {
    const Clock::Duration wait = until - clock_.Now();
    if (wait <= Clock::Duration::zero()) break;
    if (until == Clock::kNever) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitFor(mutex_, wait);
    }
  }
  is_woken_ = false;
  return !is_stopping_;
}

}  // namespace opserve
