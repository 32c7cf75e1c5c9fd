#include "server/pool/cost_model.h"

#include <algorithm>

namespace opserve {
namespace {

// What an observation weighs when the next one is made: about the last 20 count.
constexpr double kDecay = 0.95;

// A run that takes less than this part of what was expected shows that the device has become
// faster.
constexpr double kFastPart = 0.25;

// Runs of up to about so many bytes weigh the same: what they take is mostly the same, too.
constexpr double kLightBytes = 64 << 10;

// Sizes tell the time per byte only where their deviation is at least this share of their mean:
// otherwise the slope would be noise, and far off at other sizes.
constexpr double kLeastSpread = 0.5;

Clock::Duration FromNanoseconds(double nanoseconds) {
  // Bounded so that sums of estimates cannot overflow.
  constexpr double kMost = 1e15;
  return Clock::Duration(static_cast<Clock::Duration::rep>(std::clamp(nanoseconds, 0.0, kMost)));
}

constexpr LaneKey kCopyLikeLane = {.op = OpId::ELEMENT_WISE_ROUND,
                                   .lane_type = DataType::kFloat32,
                                   .output_type = DataType::kFloat32,
                                   .is_packed = true};

double WeightOf(double bytes) { return 1 / (1 + bytes / kLightBytes); }

// The time of so many runs of `bytes` bytes together.
double TimeOf(const CostLine& line, size_t runs, uint64_t bytes) {
  return line.fixed_ns() * static_cast<double>(runs) +
         line.per_byte_ns() * static_cast<double>(bytes);
}

}  // namespace

void CostLine::Observe(double bytes, double nanoseconds) {
  const double weight = WeightOf(bytes);
  Fade(kDecay);
  weight_ += weight;
  sum_x_ += weight * bytes;
  sum_y_ += weight * nanoseconds;
  sum_xx_ += weight * bytes * bytes;
  sum_xy_ += weight * bytes * nanoseconds;
  Fit();
}

void CostLine::ObserveSame(double bytes, double nanoseconds) {
  const double weight = WeightOf(bytes);
  const bool is_fast = nanoseconds < kFastPart * (fixed_ns_ + per_byte_ns_ * bytes);
  if (is_fast && weight < weight_) Fade(weight / weight_);
  Observe(bytes, nanoseconds);
}

void CostLine::Fade(double factor) {
  weight_ *= factor;
  sum_x_ *= factor;
  sum_y_ *= factor;
  sum_xx_ *= factor;
  sum_xy_ *= factor;
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

CostModel::LaneBits CostModel::BitsOf(const LaneKey& lane) {
  static_assert(sizeof(OpId) == 2 && sizeof(DataType) == 1);
  LaneBits bits = static_cast<LaneBits>(lane.op);
  bits = bits << 8 | static_cast<LaneBits>(lane.lane_type);
  bits = bits << 8 | static_cast<LaneBits>(lane.output_type);
  bits = bits << 1 | static_cast<LaneBits>(lane.is_packed);
  bits = bits << 1 | static_cast<LaneBits>(lane.scale_bias.has_value());
  bits = bits << 1 | static_cast<LaneBits>(lane.fused_activation.has_value());
  return bits << 16 | static_cast<LaneBits>(lane.fused_activation.value_or(FusedActivation()).op);
}

void CostModel::Observe(const LaneKey& lane, uint64_t bytes, Clock::Duration took) {
  const auto x = static_cast<double>(bytes);
  const auto y = static_cast<double>(took.count());
  MutexLock lock(mutex_);
  const LaneBits bits = BitsOf(lane);
  CostLine& line = lanes_[bits];
  line.ObserveSame(x, y);
  if (bits == BitsOf(kCopyLikeLane)) copy_per_byte_ns_ = line.per_byte_ns();
  any_.Observe(x, y);
}

std::optional<Clock::Duration> CostModel::Estimate(const LaneKey& lane, uint64_t bytes) const {
  MutexLock lock(mutex_);
  const auto found = lanes_.find(BitsOf(lane));
  if (found == lanes_.end()) return std::nullopt;
  return FromNanoseconds(TimeOf(found->second, 1, bytes));
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

Clock::Duration CostModel::EstimateCopy(uint64_t bytes) const {
  return FromNanoseconds(copy_per_byte_ns_ * static_cast<double>(bytes));
}

Clock::Duration CostModel::EstimateAny(size_t runs, uint64_t bytes) const {
  MutexLock lock(mutex_);
  return FromNanoseconds(TimeOf(any_, runs, bytes));
}

void CostModel::ObserveSequence(const SequenceSize& size, Clock::Duration took) {
  MutexLock lock(mutex_);
  // One step is a call, and without calls nobody knows what the ends cost.
  if (size.steps < 2 || lanes_.empty()) return;
  const double further = static_cast<double>(took.count()) - TimeOf(any_, 1, size.edge_bytes);
  if (!step_) step_.emplace();
  step_->Observe(static_cast<double>(size.step_bytes) / static_cast<double>(size.steps),
                 std::max(further, 0.0) / static_cast<double>(size.steps - 1));
}

std::optional<Clock::Duration> CostModel::EstimateSequence(const SequenceSize& size) const {
  MutexLock lock(mutex_);
  if (lanes_.empty()) return std::nullopt;
  if (!step_ || size.steps == 0) {
    return FromNanoseconds(TimeOf(any_, size.steps, size.step_bytes));
  }
  const size_t further = size.steps - 1;
  return FromNanoseconds(TimeOf(any_, 1, size.edge_bytes) +
                         TimeOf(*step_, further, size.step_bytes / size.steps * further));
}

void CostModel::Clear() {
  MutexLock lock(mutex_);
  lanes_.clear();
  any_ = {};
  step_.reset();
  copy_per_byte_ns_ = 0;
}

}  // namespace opserve
