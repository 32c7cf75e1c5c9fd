// File: client/cli/latency_histogram.h
//
// Counts latencies in buckets whose width grows with the value, so that percentiles over any range
// cost little memory and err by less than 1 %. Not thread-safe; give each thread its own and merge.

#ifndef OPSERVE_CLIENT_CLI_LATENCY_HISTOGRAM_H_
#define OPSERVE_CLIENT_CLI_LATENCY_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opserve::cli {

// A histogram of values from 0 to 2^64 - 1, such as nanoseconds.
class LatencyHistogram {
 public:
  void Record(uint64_t value);
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  // The smallest value that at least `percent` (0 to 100) of all values do not exceed, rounded up
  // to the end of its bucket, and never above max(). 0 if nothing was recorded.
  uint64_t Percentile(double percent) const;

  // How many values lie in [low, high), counting buckets by their lowest value.
  uint64_t CountBetween(uint64_t low, uint64_t high) const;

 private:
  // Each power of two is divided into this many buckets.
  static constexpr int kSubBits = 7;
  static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;

  static size_t BucketOf(uint64_t value);
  static uint64_t LowestOf(size_t bucket);

  std::vector<uint64_t> buckets_;  // as many as the largest value needs
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_LATENCY_HISTOGRAM_H_
