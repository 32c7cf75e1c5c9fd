// File: server/program/stop_signals.h
//
// SIGTERM and SIGINT as ordinary function calls: no code runs in a signal handler.

#ifndef OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
#define OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_

#include <signal.h>

#include <functional>
#include <thread>

namespace opserve {

// Blocks the two signals for the thread that makes it and for all threads started later, so make it
// before any other thread. Not thread-safe.
class StopSignals {
 public:
  StopSignals();
  // Ends the thread of OnNext.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits for a signal and returns its number.
  int Wait() const;

  // Calls `action` in a thread of its own when the next signal arrives. At most one call.
  void OnNext(std::function<void(int signal)> action);

 private:
  sigset_t signals_;
  std::thread watcher_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_STOP_SIGNALS_H_
