#include "tests/bench/instruction_count.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/status/status.h"

namespace opserve::bench {
namespace {

// Exit code of a copy that may not be traced.
constexpr int kMayNotBeTraced = 3;

// In the copy: stops, runs, and stops again.
[[noreturn]] void RunTraced(const std::function<void()>& run) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kMayNotBeTraced);
  raise(SIGSTOP);
  run();
  raise(SIGSTOP);
  _exit(0);
}

// Waits until the copy stops. Returns the signal, 0 if it has ended.
int NextStop(pid_t copy, int& status) {
  while (waitpid(copy, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

}  // namespace

absl::StatusOr<uint64_t> CountInstructions(const std::function<void()>& run) {
  const pid_t copy = fork();
  if (copy < 0) return absl::ErrnoToStatus(errno, "fork");
  if (copy == 0) RunTraced(run);

  int status = 0;
  int stop = NextStop(copy, status);
  uint64_t count = 0;
  if (stop == SIGSTOP) {
    do {
      if (ptrace(PTRACE_SINGLESTEP, copy, nullptr, nullptr) != 0) break;
      stop = NextStop(copy, status);
      ++count;
    } while (stop == SIGTRAP);
  }
  if (stop == SIGSTOP) {
    kill(copy, SIGKILL);
    waitpid(copy, nullptr, 0);
    return count;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kMayNotBeTraced) {
    return absl::PermissionDeniedError("processes may not trace each other here");
  }
  if (stop != 0) {
    kill(copy, SIGKILL);
    waitpid(copy, nullptr, 0);
  }
  return absl::AbortedError("what was counted ended early");
}

}  // namespace opserve::bench
