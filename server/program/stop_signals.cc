#include "server/program/stop_signals.h"

#include <utility>

namespace opserve {

StopSignals::StopSignals() : source_([this](int signal) { Take(signal); }) {}

void StopSignals::Take(int signal) {
  std::function<void(int)> action;
  {
    MutexLock lock(mutex_);
    if (is_ignoring_ || (signal == kReloadSignal && is_stopping_)) return;
    action = std::exchange(action_, nullptr);
    if (action == nullptr) {
      // One reading of the files is for all requests before it.
      const bool is_known =
          !arrived_.empty() && arrived_.back() == signal && signal == kReloadSignal;
      if (!is_known) arrived_.push_back(signal);
      changed_.NotifyOne();
      return;
    }
    is_acting_ = true;
  }
  action(signal);
  MutexLock lock(mutex_);
  is_acting_ = false;
  changed_.NotifyAll();
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
    while (!arrived_.empty() && arrived_.front() == kReloadSignal) arrived_.pop_front();
    if (arrived_.empty()) {
      action_ = std::move(action);
      return;
    }
    signal = arrived_.front();
  }
  action(signal);
}

void StopSignals::Ignore() {
  MutexLock lock(mutex_);
  is_ignoring_ = true;
  action_ = nullptr;
  while (is_acting_) changed_.Wait(mutex_);
}

}  // namespace opserve
