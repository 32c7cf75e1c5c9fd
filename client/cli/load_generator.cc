#include "client/cli/load_generator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"

namespace opserve::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

constexpr std::chrono::milliseconds kProgressInterval(100);
// The clock's numbers end some 292 years after the machine's start.
constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 100);

// Hands out the times at which calls are due. Thread-safe.
class Schedule {
 public:
  Schedule(const LoadOptions& options, std::atomic<bool>& stop)
      : rate_(options.rate),
        start_(SteadyClock::now()),
        end_(start_ + absl::ToChronoNanoseconds(std::min(options.duration, kLongest))),
        stop_(stop) {}

  // When the next call is due, possibly in the past; waits until then. nullopt once there are none.
  std::optional<TimePoint> Next() {
    if (stop_) {
      const MutexLock lock(mutex_);
      NoteStop(SteadyClock::now());
      return std::nullopt;
    }
    if (rate_ <= 0) {
      const TimePoint now = SteadyClock::now();
      return now < end_ ? std::optional(now) : std::nullopt;
    }
    const TimePoint due = DueTime(next_++);
    const TimePoint now = SteadyClock::now();
    if (due >= end_ || now >= end_) return std::nullopt;
    const MutexLock lock(mutex_);
    while (!stop_ && stopped_.WaitUntil(mutex_, due)) {
    }
    if (!stop_) return due;
    NoteStop(std::min(std::max(due, now), SteadyClock::now()));
    return std::nullopt;
  }

  // Wakes up all that wait, after `stop` has been set.
  void WakeUp() {
    const MutexLock lock(mutex_);
    stopped_.NotifyAll();
  }

  // Number of calls that were due before `now`, before the end and before the stop; 0 in a closed
  // loop.
  uint64_t CallsDue(TimePoint now) {
    if (rate_ <= 0) return 0;
    const MutexLock lock(mutex_);
    const TimePoint last = std::min({now, end_, stopped_at_});
    const std::chrono::duration<double> time = last - start_;
    auto due = static_cast<uint64_t>(std::ceil(time.count() * rate_));
    // The product may be just above a whole number that it should be.
    while (due > 0 && DueTime(due - 1) >= last) --due;
    return due;
  }

  TimePoint start() const { return start_; }
  TimePoint end() const { return end_; }

 private:
  // Nobody tells when `stop` was set; by `latest` it was.
  void NoteStop(TimePoint latest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stopped_at_ = std::min(stopped_at_, latest);
  }

  TimePoint DueTime(uint64_t i) const {
    const std::chrono::duration<double> offset(static_cast<double>(i) / rate_);
    return start_ + std::chrono::duration_cast<SteadyClock::duration>(offset);
  }

  const double rate_;
  const TimePoint start_;
  const TimePoint end_;
  std::atomic<bool>& stop_;
  std::atomic<uint64_t> next_ = 0;
  Mutex mutex_;
  CondVar stopped_;
  TimePoint stopped_at_ ABSL_GUARDED_BY(mutex_) = TimePoint::max();
};

void Record(const absl::Status& status, TimePoint due, LoadResult& result) {
  if (status.ok()) {
    const auto latency = std::chrono::nanoseconds(SteadyClock::now() - due).count();
    result.latencies.Record(static_cast<uint64_t>(latency));
    return;
  }
  ++result.errors[status.code()];
  if (result.first_error.empty()) result.first_error = status.ToString();
}

void Merge(const LoadResult& part, LoadResult& whole) {
  whole.latencies.Merge(part.latencies);
  for (const auto& [code, count] : part.errors) whole.errors[code] += count;
  if (whole.first_error.empty()) whole.first_error = part.first_error;
}

}  // namespace

uint64_t LoadResult::error_count() const {
  uint64_t count = 0;
  for (const auto& [code, of_code] : errors) count += of_code;
  return count;
}

absl::StatusOr<LoadResult> GenerateLoad(const LoadOptions& options,
                                        const std::function<absl::Status()>& call,
                                        const std::function<void(uint64_t calls_done)>& progress,
                                        std::atomic<bool>& stop) {
  Schedule schedule(options, stop);
  std::atomic<uint64_t> done = 0;
  std::vector<LoadResult> parts(static_cast<size_t>(options.concurrency));
  std::vector<std::thread> threads;
  threads.reserve(parts.size());
  absl::Status started;
  try {
    for (LoadResult& part : parts) {
      threads.emplace_back([&schedule, &call, &done, &part] {
        while (const std::optional<TimePoint> due = schedule.Next()) {
          Record(call(), *due, part);
          ++done;
        }
      });
    }
  } catch (const std::system_error&) {
    started = absl::ResourceExhaustedError(absl::StrCat(
        "no more than ", threads.size(), " threads can be started; lower --concurrency"));
    stop = true;
  }
  while (!stop && SteadyClock::now() < schedule.end()) {
    std::this_thread::sleep_until(std::min(SteadyClock::now() + kProgressInterval, schedule.end()));
    progress(done);
  }
  const TimePoint stopped = SteadyClock::now();
  schedule.WakeUp();
  for (std::thread& thread : threads) thread.join();
  if (!started.ok()) return started;

  LoadResult result;
  result.elapsed = absl::FromChrono(SteadyClock::now() - schedule.start());
  for (const LoadResult& part : parts) Merge(part, result);
  const uint64_t due = schedule.CallsDue(stopped);
  result.not_started = due - std::min(due, done.load());
  return result;
}

}  // namespace opserve::cli
