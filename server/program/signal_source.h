// File: server/program/signal_source.h
//
// Requests of the system and of its users to stop the program, or to read its files again.

#ifndef OPSERVE_SERVER_PROGRAM_SIGNAL_SOURCE_H_
#define OPSERVE_SERVER_PROGRAM_SIGNAL_SOURCE_H_

#include <functional>
#include <memory>

namespace opserve {

// Number of the signal (SIGHUP on POSIX) after which the program is to read its files again; after
// all others it is to stop.
inline constexpr int kReloadSignal = 1;

// On POSIX SIGTERM, SIGINT and SIGHUP, which it blocks for the thread that makes it and for all
// threads started later: so make it before any other thread. On Windows Ctrl-C and Ctrl-Break
// (SIGINT), the end of the console, of the session or of the machine, and the program's events
// (server/program/control_event.h), which stop it like SIGTERM, or say kReloadSignal. Has a thread
// of its own from the start: a process that is short of threads can still be stopped.
class SignalSource {
 public:
  // Calls `take` with the number of each signal, in a thread of the source. Throws
  // std::system_error where there is no thread.
  explicit SignalSource(std::function<void(int signal)> take);
  // Waits for `take` to return.
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_SIGNAL_SOURCE_H_
