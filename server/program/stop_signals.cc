#include "server/program/stop_signals.h"

#include <pthread.h>

#include <utility>

namespace opserve {
namespace {

// Wakes the watcher when nobody will send it a signal any more.
constexpr int kWakeUp = SIGUSR1;

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (int signal : {SIGTERM, SIGINT}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

StopSignals::~StopSignals() {
  if (!watcher_.joinable()) return;
  pthread_kill(watcher_.native_handle(), kWakeUp);
  watcher_.join();
}

int StopSignals::Wait() const {
  int signal = 0;
  sigwait(&signals_, &signal);
  return signal;
}

void StopSignals::OnNext(std::function<void(int)> action) {
  sigset_t with_wake_up = signals_;
  sigaddset(&with_wake_up, kWakeUp);
  // Threads inherit the mask; the wake-up is blocked only while and where it is waited for.
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &with_wake_up, &before);
  watcher_ = std::thread([with_wake_up, action = std::move(action)] {
    int signal = 0;
    sigwait(&with_wake_up, &signal);
    if (signal != kWakeUp) action(signal);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace opserve
