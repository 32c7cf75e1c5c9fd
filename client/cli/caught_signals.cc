#include "client/cli/caught_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace opserve::cli {
namespace {

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");
std::atomic<int> write_end = -1;

void NoteSignal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  // A pipe that is full has told enough.
  [[maybe_unused]] const ssize_t written = write(write_end, &byte, 1);
  errno = error;
}

void DropSignal(int /*number*/) {}

}  // namespace

CaughtSignals::CaughtSignals() {
  if (pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  write_end = pipe_[1];
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    // Masks would not do: the threads of gRPC are there already, and take the signals too. Handlers
    // are for all threads, and no program that is started inherits them.
    struct sigaction action = {};
    action.sa_handler = kSignals[i] == SIGTERM || kSignals[i] == SIGHUP ? NoteSignal : DropSignal;
    action.sa_flags = SA_RESTART;
    sigaction(kSignals[i], &action, nullptr);
  }
}

CaughtSignals::~CaughtSignals() {
  if (pipe_[0] < 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  write_end = -1;
  for (const int end : pipe_) close(end);
}

std::optional<int> CaughtSignals::Take() {
  unsigned char number;
  if (read(pipe_[0], &number, 1) != 1) return std::nullopt;
  return number;
}

}  // namespace opserve::cli
