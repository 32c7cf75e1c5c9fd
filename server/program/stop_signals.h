// File: server/program/stop_signals.h
//
// Requests to stop and to read files again as ordinary function calls: no code runs in a signal
// handler.

#ifndef OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
#define OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_

#include <deque>
#include <functional>

#include "proto/base/mutex.h"
#include "server/program/signal_source.h"

namespace opserve {

// Those of SignalSource; to be made before any other thread. Wait, OnNext and Ignore belong to one
// thread.
class StopSignals {
 public:
  // Throws std::system_error where there is no thread.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits for a signal and returns its number, which is kReloadSignal where the program is not to
  // stop but to read its files again.
  int Wait();

  // Calls `action` for the next signal to stop, in the thread of this object or, where the signal
  // is there already, at once. At most one call. kReloadSignal has no effect from then on.
  void OnNext(std::function<void(int signal)> action);

  // Calls no action any more, and waits for one that runs. Signals have no effect from then on.
  void Ignore();

 private:
  void Take(int signal);

  Mutex mutex_;
  CondVar changed_;
  // Those that nobody has waited for yet.
  std::deque<int> arrived_ ABSL_GUARDED_BY(mutex_);
  std::function<void(int)> action_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ignoring_ ABSL_GUARDED_BY(mutex_) = false;
  // An action runs in the source's thread.
  bool is_acting_ ABSL_GUARDED_BY(mutex_) = false;
  // The last member: it calls Take.
  SignalSource source_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
