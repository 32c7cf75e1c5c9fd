#include "client/rpc/watchdog.h"

#include <chrono>

namespace opserve::client_internal {
namespace {

absl::Time Now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

Watchdog::Key Watchdog::RunAfter(absl::Duration delay, std::function<void()> action) {
  const MutexLock lock(mutex_);
  const Key key = {Now() + delay, ++last_number_};
  if (delay == absl::InfiniteDuration()) return key;
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  const auto added = actions_.emplace(key, std::move(action)).first;
  if (added == actions_.begin()) changed_.NotifyOne();
  return key;
}

void Watchdog::Cancel(const Key& key) {
  const MutexLock lock(mutex_);
  actions_.erase(key);
}

void Watchdog::Run() {
  const MutexLock lock(mutex_);
  while (!is_stopping_) {
    if (actions_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const absl::Duration wait = actions_.begin()->first.first - Now();
    if (wait > absl::ZeroDuration()) {
      changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(wait));
      continue;
    }
    const std::function<void()> action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    mutex_.unlock();
    action();
    mutex_.lock();
  }
}

}  // namespace opserve::client_internal
