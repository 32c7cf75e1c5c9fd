#include "server/pool/cost_model.h"

#include <algorithm>

namespace opserve {
namespace {

// What an observation weighs when the next one is made: about the last 20 count.
constexpr double kDecay = 0.95;

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

LaneKey Merged(LaneKey lane) {
  lane.attributes = {};
  return lane;
}

// Of so many runs of `bytes` bytes together.
double TimeOf(const CostLine& line, size_t runs, uint64_t bytes) {
  return line.fixed_ns() * static_cast<double>(runs) +
         line.per_byte_ns() * static_cast<double>(bytes);
}

}  // namespace

SequenceWork WorkOf(const SequenceInvocation& sequence) {
  SequenceWork work = {.steps = sequence.steps.size()};
  for (const uint64_t bytes : sequence.input_bytes) work.edge_bytes += bytes;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) work.edge_bytes += sequence.output_bytes(i);
  for (const SequenceStep& step : sequence.steps) {
    work.step_bytes += step.call->output_bytes;
    for (const uint64_t bytes : step.call->input_bytes) work.step_bytes += bytes;
  }
  return work;
}

void CostLine::Observe(double bytes, double nanoseconds) {
  const double weight = 1 / (1 + bytes / kLightBytes);
  weight_ = weight_ * kDecay + weight;
  sum_x_ = sum_x_ * kDecay + weight * bytes;
  sum_y_ = sum_y_ * kDecay + weight * nanoseconds;
  sum_xx_ = sum_xx_ * kDecay + weight * bytes * bytes;
  sum_xy_ = sum_xy_ * kDecay + weight * bytes * nanoseconds;
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

Clock::Duration CostModel::EstimateAny(size_t runs, uint64_t bytes) const {
  MutexLock lock(mutex_);
  return FromNanoseconds(TimeOf(any_, runs, bytes));
}

void CostModel::ObserveSequence(const SequenceWork& work, Clock::Duration took) {
  MutexLock lock(mutex_);
  // One step is a call, and without calls nobody knows what the ends cost.
  if (work.steps < 2 || lanes_.empty()) return;
  const double further = static_cast<double>(took.count()) - TimeOf(any_, 1, work.edge_bytes);
  if (!step_) step_.emplace();
  step_->Observe(static_cast<double>(work.step_bytes) / static_cast<double>(work.steps),
                 std::max(further, 0.0) / static_cast<double>(work.steps - 1));
}

std::optional<Clock::Duration> CostModel::EstimateSequence(const SequenceWork& work) const {
  MutexLock lock(mutex_);
  if (lanes_.empty()) return std::nullopt;
  if (!step_ || work.steps == 0) {
    return FromNanoseconds(TimeOf(any_, work.steps, work.step_bytes));
  }
  const size_t further = work.steps - 1;
  return FromNanoseconds(TimeOf(any_, 1, work.edge_bytes) +
                         TimeOf(*step_, further, work.step_bytes / work.steps * further));
}

void CostModel::Clear() {
  MutexLock lock(mutex_);
  lanes_.clear();
  any_ = {};
  step_.reset();
}

}  // namespace opserve
