#include "server/metrics/duration_metric.h"

#include <array>

namespace opserve {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr size_t kBoundCount = DurationHistogram::kBounds.size();

constexpr std::array<double, kBoundCount> kSeconds = [] {
  std::array<double, kBoundCount> seconds = {};
  for (size_t i = 0; i < kBoundCount; ++i) {
    seconds[i] = static_cast<double>(DurationHistogram::kBounds[i]) / kNanosecondsPerSecond;
  }
  return seconds;
}();

}  // namespace

DurationSum::DurationSum() : value_{.bounds = kSeconds} { value_.counts.resize(kBoundCount + 1); }

void DurationSum::Add(const DurationHistogram& part) {
  for (size_t bucket = 0; bucket <= kBoundCount; ++bucket) {
    const uint64_t count = part.counts[bucket].load(std::memory_order_relaxed);
    value_.counts[bucket] += count;
    count_ += count;
  }
  value_.sum +=
      static_cast<double>(part.sum_ns.load(std::memory_order_relaxed)) / kNanosecondsPerSecond;
}

}  // namespace opserve
