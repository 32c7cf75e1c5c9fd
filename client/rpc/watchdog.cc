#include "client/rpc/watchdog.h"

#include <algorithm>
#include <chrono>

#include "client/base/clock.h"

namespace opserve::client_internal {
namespace {

absl::Time Now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

Watchdog::Watchdog() : thread_([this] { Run(); }) {}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    Wake();
  }
  thread_.join();
}

Watchdog::Key Watchdog::RunAfter(absl::Duration delay, std::function<void()> action) {
  const MutexLock lock(mutex_);
  const Key key = {Now() + delay, ++last_number_};
  if (delay == absl::InfiniteDuration()) return key;
  actions_.emplace(key, std::move(action));
  if (key.first < wakes_at_) Wake();
  return key;
}

void Watchdog::Cancel(const Key& key) {
  const MutexLock lock(mutex_);
  actions_.erase(key);
}

void Watchdog::Wake() {
  wakes_at_ = absl::InfinitePast();
  changed_.NotifyOne();
}

void Watchdog::SleepUntil(absl::Time time) {
  wakes_at_ = time;
  if (time == absl::InfiniteFuture()) {
    changed_.Wait(mutex_);
  } else {
    changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(std::min(time - Now(), kLongestTime)));
  }
  wakes_at_ = absl::InfinitePast();
}

void Watchdog::Run() {
  const MutexLock lock(mutex_);
  while (!is_stopping_) {
    const absl::Time next =
        actions_.empty() ? absl::InfiniteFuture() : actions_.begin()->first.first;
    if (next > Now()) {
      SleepUntil(next);
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
