#include "client/cli/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace opserve::cli {

// Values below kSubBuckets have a bucket each. Above, a value is shifted until it lies in
// [kSubBuckets, 2 * kSubBuckets); the shift and the remaining bits name the bucket.
size_t LatencyHistogram::BucketOf(uint64_t value) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kSubBits - 1);
  return static_cast<size_t>(shift) * kSubBuckets + (value >> shift);
}

uint64_t LatencyHistogram::LowestOf(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const uint64_t shift = bucket / kSubBuckets - 1;
  return (bucket - shift * kSubBuckets) << shift;
}

void LatencyHistogram::Record(uint64_t value) {
  const size_t bucket = BucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

uint64_t LatencyHistogram::Percentile(double percent) const {
  const double wanted = std::ceil(static_cast<double>(count_) * percent / 100);
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(max_, LowestOf(i + 1) - 1);
  }
  return max_;
}

uint64_t LatencyHistogram::CountBetween(uint64_t low, uint64_t high) const {
  uint64_t count = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const uint64_t lowest = LowestOf(i);
    if (lowest >= low && lowest < high) count += buckets_[i];
  }
  return count;
}

}  // namespace opserve::cli
