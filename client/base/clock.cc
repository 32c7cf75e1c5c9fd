#include "client/base/clock.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "proto/base/mutex.h"

namespace opserve::client_internal {
namespace {

class SteadyClock final : public ClientClock {
 public:
  ~SteadyClock() override {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyOne();
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Time Now() override {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  void SleepFor(absl::Duration duration) override {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
  }

  Key RunAfter(absl::Duration delay, std::function<void()> action) override {
    const MutexLock lock(mutex_);
    // Most clients never retry, so the thread starts with the first need for it.
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    const Key key = {Now() + delay, ++last_number_};
    pending_.emplace(key, std::move(action));
    changed_.NotifyOne();
    return key;
  }

  void Cancel(const Key& key) override {
    // Goes after the lock: what it holds may need the clock at its end.
    std::function<void()> action;
    const MutexLock lock(mutex_);
    const auto found = pending_.find(key);
    if (found == pending_.end()) return;
    action = std::move(found->second);
    pending_.erase(found);
  }

 private:
  void Run() {
    const MutexLock lock(mutex_);
    while (!stopping_ || !pending_.empty()) {
      if (pending_.empty()) {
        changed_.Wait(mutex_);
        continue;
      }
      const absl::Duration wait = pending_.begin()->first.first - Now();
      if (!stopping_ && wait > absl::ZeroDuration()) {
        changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(std::min(wait, kLongestTime)));
        continue;
      }
      const std::function<void()> action = std::move(pending_.begin()->second);
      pending_.erase(pending_.begin());
      mutex_.unlock();
      action();
      mutex_.lock();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Key, std::function<void()>> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Started under the lock, and joined by the destructor, which is alone.
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ClientClock> MakeSteadyClock() { return std::make_unique<SteadyClock>(); }

}  // namespace opserve::client_internal
