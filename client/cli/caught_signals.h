// File: client/cli/caught_signals.h
//
// The signals that ask this process to end, for one that must not end before its command.

#ifndef OPSERVE_CLIENT_CLI_CAUGHT_SIGNALS_H_
#define OPSERVE_CLIENT_CLI_CAUGHT_SIGNALS_H_

#include <array>
#include <csignal>
#include <optional>

namespace opserve::cli {

// Catches SIGTERM, SIGHUP, SIGINT and SIGQUIT on whichever thread they come, for as long as it
// lives; those that the process ignores, it goes on to ignore. Programs that are started meanwhile
// have them as they were. There can be one at a time. Not thread-safe.
class CaughtSignals {
 public:
  CaughtSignals();
  // Everything is as it was.
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  // A descriptor of this object that is readable once there is a signal to take; negative, with
  // errno, where there is none, and nothing is caught.
  int descriptor() const { return pipe_[0]; }
  // The next SIGTERM or SIGHUP; none where no other has come. SIGINT and SIGQUIT are dropped, since
  // a terminal sends them to the commands of this process as well.
  std::optional<int> Take();

 private:
  static constexpr std::array kSignals = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

  std::array<int, 2> pipe_ = {-1, -1};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CAUGHT_SIGNALS_H_
