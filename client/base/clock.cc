#include "client/base/clock.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace opserve::client_internal {
namespace {

class SteadyClock final : public Clock {
 public:
  ~SteadyClock() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
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

  void RunAfter(absl::Duration delay, std::function<void()> action) override {
    const std::lock_guard lock(mutex_);
    // Most clients never retry, so the thread starts with the first need for it.
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    pending_.emplace(Now() + delay, std::move(action));
    changed_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!stopping_ || !pending_.empty()) {
      if (pending_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const absl::Duration wait = pending_.begin()->first - Now();
      if (!stopping_ && wait > absl::ZeroDuration()) {
        changed_.wait_for(lock, absl::ToChronoNanoseconds(wait));
        continue;
      }
      const std::function<void()> action = std::move(pending_.begin()->second);
      pending_.erase(pending_.begin());
      lock.unlock();
      action();
      lock.lock();
    }
  }

  // mutex_ guards all that follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<absl::Time, std::function<void()>> pending_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Clock> MakeSteadyClock() { return std::make_unique<SteadyClock>(); }

}  // namespace opserve::client_internal
