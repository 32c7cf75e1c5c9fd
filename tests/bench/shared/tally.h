// File: tests/bench/shared/tally.h
//
// What clients got from a server that they share.

#ifndef OPSERVE_TESTS_BENCH_SHARED_TALLY_H_
#define OPSERVE_TESTS_BENCH_SHARED_TALLY_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "client/cli/latency_histogram.h"
#include "nlohmann/json.hpp"
#include "opserve/client.h"
#include "proto/base/mutex.h"

namespace opserve::shared_bench {

using SteadyClock = std::chrono::steady_clock;

// Counts the calls that were due in a span of time. Thread-safe.
class Tally {
 public:
  Tally(SteadyClock::time_point begin, SteadyClock::duration length)
      : begin_(begin), end_(begin + length) {}

  SteadyClock::time_point end() const { return end_; }

  // A call that was due at `began` and over at `ended`. Where it was due in time, it counts
  // whenever it ended: the calls that wait the longest would be missing.
  void Count(SteadyClock::time_point began, SteadyClock::time_point ended,
             const absl::Status& status, bool is_right) {
    if (began < begin_ || began >= end_) return;
    const MutexLock lock(mutex_);
    if (status.ok()) {
      ++(is_right ? right_ : wrong_);
      latency_.Record(static_cast<uint64_t>((ended - began).count()));
    } else if (absl::IsResourceExhausted(status)) {
      ++refused_;
      if (!GetRetryDelay(status)) ++refused_without_delay_;
    } else {
      if (failed_++ == 0) first_failure_ = status.ToString();
    }
  }

  nlohmann::json ToJson() const {
    const MutexLock lock(mutex_);
    return {{"right", right_},
            {"wrong", wrong_},
            {"refused", refused_},
            {"refused_without_delay", refused_without_delay_},
            {"failed", failed_},
            {"first_failure", first_failure_},
            {"seconds", std::chrono::duration<double>(end_ - begin_).count()},
            {"p50_us", static_cast<double>(latency_.Percentile(50)) / 1e3},
            {"p99_us", static_cast<double>(latency_.Percentile(99)) / 1e3},
            {"max_us", static_cast<double>(latency_.max()) / 1e3}};
  }

 private:
  const SteadyClock::time_point begin_;
  const SteadyClock::time_point end_;
  mutable Mutex mutex_;
  uint64_t right_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t wrong_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_without_delay_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string first_failure_ ABSL_GUARDED_BY(mutex_);
  cli::LatencyHistogram latency_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::shared_bench

#endif  // OPSERVE_TESTS_BENCH_SHARED_TALLY_H_
