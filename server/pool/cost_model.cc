#include "server/pool/cost_model.h"

#include <algorithm>

namespace opserve {
namespace {

// What an observation weighs when the next one is made: about the last 20 count.
constexpr double kDecay = 0.95;

// Sizes tell the time per byte only where their deviation is at least this share of their mean:
// otherwise the slope would be noise, and far off at other sizes.
constexpr double kLeastSpread = 0.5;

Clock::Duration FromNanoseconds(double nanoseconds) {
  // Bounded so that sums of estimates cannot overflow.
  constexpr double kMost = 1e15;
  return Clock::Duration(static_cast<Clock::Duration::rep>(std::clamp(nanoseconds, 0.0, kMost)));
}

LaneKey Merged(LaneKey lane) {
  lane.attributes = {};
  if (lane.sequence != 0) lane.sequence = 1;
  return lane;
}

}  // namespace

void CostLine::Observe(double bytes, double nanoseconds) {
  weight_ = weight_ * kDecay + 1;
  sum_x_ = sum_x_ * kDecay + bytes;
  sum_y_ = sum_y_ * kDecay + nanoseconds;
  sum_xx_ = sum_xx_ * kDecay + bytes * bytes;
  sum_xy_ = sum_xy_ * kDecay + bytes * nanoseconds;
  Fit();
}

void CostLine::Fit() {
  const double mean_x = sum_x_ / weight_;
  const double mean_y = sum_y_ / weight_;
  const double variance = sum_xx_ / weight_ - mean_x * mean_x;
  if (variance > 0 && variance >= kLeastSpread * kLeastSpread * mean_x * mean_x) {
    const double slope = (sum_xy_ / weight_ - mean_x * mean_y) / variance;
    // A line that would start below 0 goes through the origin instead.
    per_byte_ns_ = mean_y < slope * mean_x ? sum_xy_ / sum_xx_ : std::max(slope, 0.0);
  }
  fixed_ns_ = std::max(mean_y - per_byte_ns_ * mean_x, 0.0);
}

void CostModel::Observe(const LaneKey& lane, uint64_t bytes, Clock::Duration took) {
  const auto x = static_cast<double>(bytes);
  const auto y = static_cast<double>(took.count());
  MutexLock lock(mutex_);
  lanes_[Merged(lane)].Observe(x, y);
  any_.Observe(x, y);
}

std::optional<Clock::Duration> CostModel::Estimate(const LaneKey& lane, uint64_t bytes) const {
  MutexLock lock(mutex_);
  const auto found = lanes_.find(Merged(lane));
  if (found == lanes_.end()) return std::nullopt;
  const CostLine& line = found->second;
  return FromNanoseconds(line.fixed_ns() + line.per_byte_ns() * static_cast<double>(bytes));
}

std::optional<Clock::Duration> CostModel::EstimateLike(const LaneKey& lane, uint64_t bytes) const {
  const std::optional<Clock::Duration> known = Estimate(lane, bytes);
  if (known) return known;
  {
    MutexLock lock(mutex_);
    if (lanes_.empty()) return std::nullopt;
  }
  return EstimateAny(1, bytes);
}

Clock::Duration CostModel::EstimateAny(size_t runs, uint64_t bytes) const {
  MutexLock lock(mutex_);
  return FromNanoseconds(any_.fixed_ns() * static_cast<double>(runs) +
                         any_.per_byte_ns() * static_cast<double>(bytes));
}

void CostModel::Clear() {
  MutexLock lock(mutex_);
  lanes_.clear();
  any_ = {};
}

}  // namespace opserve
