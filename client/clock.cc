#include "client/clock.h"

#include <chrono>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace opserve::client_internal {
namespace {

class SteadyClock final : public Clock {
 public:
  ~SteadyClock() override {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      changed_.Signal();
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Time Now() override {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  void SleepFor(absl::Duration duration) override { absl::SleepFor(duration); }

  void RunAfter(absl::Duration delay, std::function<void()> action) override {
    absl::MutexLock lock(&mutex_);
    // Most clients never retry, so the thread starts with the first need for it.
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    pending_.emplace(Now() + delay, std::move(action));
    changed_.Signal();
  }

 private:
  void Run() {
    absl::MutexLock lock(&mutex_);
    while (!stopping_ || !pending_.empty()) {
      const absl::Time next = pending_.empty() ? absl::InfiniteFuture() : pending_.begin()->first;
      const absl::Duration wait = next - Now();
      if (!stopping_ && wait > absl::ZeroDuration()) {
        changed_.WaitWithTimeout(&mutex_, wait);
        continue;
      }
      const std::function<void()> action = std::move(pending_.begin()->second);
      pending_.erase(pending_.begin());
      mutex_.Unlock();
      action();
      mutex_.Lock();
    }
  }

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::multimap<absl::Time, std::function<void()>> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Clock> MakeSteadyClock() { return std::make_unique<SteadyClock>(); }

}  // namespace opserve::client_internal
