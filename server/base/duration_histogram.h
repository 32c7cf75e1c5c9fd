// File: server/base/duration_histogram.h
//
// How often something took how long.

#ifndef OPSERVE_SERVER_BASE_DURATION_HISTOGRAM_H_
#define OPSERVE_SERVER_BASE_DURATION_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/base/clock.h"

namespace opserve {

// From 10 us to 10 s. Thread-safe: a duration adds to two numbers, which whoever reads meanwhile
// may see one without the other.
struct DurationHistogram {
  // Upper bounds of the buckets, in nanoseconds; another bucket is above.
  static constexpr std::array<uint64_t, 19> kBounds = {
      10'000,        25'000,        50'000,        100'000,       250'000,
      500'000,       1'000'000,     2'500'000,     5'000'000,     10'000'000,
      25'000'000,    50'000'000,    100'000'000,   250'000'000,   500'000'000,
      1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

  // How many durations are in each bucket alone.
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts = {};
  std::atomic<uint64_t> sum_ns = 0;

  void Add(Clock::Duration duration) {
    const auto ns = static_cast<uint64_t>(std::max<Clock::Duration::rep>(duration.count(), 0));
    // Nearly all are short.
    size_t bucket = 0;
    while (bucket < kBounds.size() && ns > kBounds[bucket]) ++bucket;
    counts[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_ns.fetch_add(ns, std::memory_order_relaxed);
  }
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_DURATION_HISTOGRAM_H_
