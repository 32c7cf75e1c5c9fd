#include "server/program/stop_signals.h"

#include <pthread.h>

#include <utility>

#include "server/base/named_thread.h"

namespace opserve {
namespace {

// Ends the thread when nobody will send it a signal any more.
constexpr int kWakeUp = SIGUSR1;

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  sigaddset(&signals_, kWakeUp);
  // Threads inherit the mask; the wake-up is blocked only where it is waited for.
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals_, &before);
  thread_ = StartThread("signals", [this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StopSignals::~StopSignals() {
  {
    MutexLock lock(mutex_);
    is_ending_ = true;
  }
  pthread_kill(thread_.native_handle(), kWakeUp);
  thread_.join();
}

void StopSignals::Run() {
  while (true) {
    int signal = 0;
    sigwait(&signals_, &signal);
    {
      MutexLock lock(mutex_);
      if (is_ending_) return;
    }
    if (signal != kWakeUp) Take(signal);
  }
}

void StopSignals::Take(int signal) {
  std::function<void(int)> action;
  {
    MutexLock lock(mutex_);
    if (signal == SIGHUP && is_stopping_) return;
    action = std::exchange(action_, nullptr);
    if (action == nullptr) {
      // One reading of the files is for all requests before it.
      const bool is_known = !arrived_.empty() && arrived_.back() == signal && signal == SIGHUP;
      if (!is_known) arrived_.push_back(signal);
      changed_.NotifyOne();
      return;
    }
  }
  action(signal);
}

int StopSignals::Wait() {
  MutexLock lock(mutex_);
  while (arrived_.empty()) changed_.Wait(mutex_);
  const int signal = arrived_.front();
  arrived_.pop_front();
  return signal;
}

void StopSignals::OnNext(std::function<void(int)> action) {
  int signal = 0;
  {
    MutexLock lock(mutex_);
    is_stopping_ = true;
    while (!arrived_.empty() && arrived_.front() == SIGHUP) arrived_.pop_front();
    if (arrived_.empty()) {
      action_ = std::move(action);
      return;
    }
    signal = arrived_.front();
  }
  action(signal);
}

}  // namespace opserve
