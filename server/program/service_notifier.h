// File: server/program/service_notifier.h
//
// Tells a service manager such as systemd how the program is (sd_notify). The protocol is a
// datagram of a few words to a socket that the environment names, which systemd keeps stable for
// programs that do without libsystemd: one library less to bundle and to install.

#ifndef OPSERVE_SERVER_PROGRAM_SERVICE_NOTIFIER_H_
#define OPSERVE_SERVER_PROGRAM_SERVICE_NOTIFIER_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// Does nothing where no service manager asked for it. A message that cannot be delivered is
// dropped: the program serves without its manager as well. Immutable, safe to use from any thread.
class ServiceNotifier {
 public:
  // What $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID say. To be called before there are
  // threads.
  static ServiceNotifier OfEnvironment();

  // `socket`: a path, "@name" for a socket without a file, or empty. `watchdog`: how long the
  // manager waits for Alive before it ends the program; unset: it does not.
  ServiceNotifier(std::string socket, std::optional<std::chrono::microseconds> watchdog)
      : socket_(std::move(socket)), watchdog_(watchdog) {}

  // It serves: also after Reloading.
  void Ready() const { Send("READY=1"); }
  // It reads its files again.
  void Reloading() const;
  // It is to end.
  void Stopping() const { Send("STOPPING=1"); }
  // It works. More often than each `watchdog`.
  void Alive() const { Send("WATCHDOG=1"); }

  std::optional<std::chrono::microseconds> watchdog() const {
    return socket_.empty() ? std::nullopt : watchdog_;
  }

 private:
  void Send(absl::string_view state) const;

  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_SERVICE_NOTIFIER_H_
