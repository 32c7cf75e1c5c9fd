// File: server/program/stop_signals.h
//
// SIGTERM, SIGINT and SIGHUP as ordinary function calls: no code runs in a signal handler.

#ifndef OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
#define OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_

#include <signal.h>

#include <deque>
#include <functional>
#include <thread>

#include "proto/base/mutex.h"

namespace opserve {

// Blocks the signals for the thread that makes it and for all threads started later, so make it
// before any other thread. It has a thread of its own from the start: a process that is short of
// threads can still be stopped. Wait and OnNext belong to one thread.
class StopSignals {
 public:
  // Throws std::system_error where there is no thread.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits for a signal and returns its number, which is SIGHUP where the program is not to stop but
  // to read its files again.
  int Wait();

  // Calls `action` for the next signal to stop, in the thread of this object or, where the signal
  // is there already, at once. At most one call. SIGHUP has no effect from then on.
  void OnNext(std::function<void(int signal)> action);

 private:
  void Run();
  void Take(int signal);

  sigset_t signals_;
  Mutex mutex_;
  CondVar changed_;
  // Those that nobody has waited for yet.
  std::deque<int> arrived_ ABSL_GUARDED_BY(mutex_);
  std::function<void(int)> action_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
