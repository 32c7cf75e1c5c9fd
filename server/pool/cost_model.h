// File: server/pool/cost_model.h
//
// How long a device takes, learnt from what it did: per lane a fixed time and a time per byte.

#ifndef OPSERVE_SERVER_POOL_COST_MODEL_H_
#define OPSERVE_SERVER_POOL_COST_MODEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "kernels/sequence.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/device/lane_key.h"

namespace opserve {

// A line through observed (bytes, time) by least squares. A run weighs the less the more bytes it
// has, so that errors of long runs do not drown the time that every run takes, and each observation
// less than the one after it. Both coefficients are at least 0. Not thread-safe.
class CostLine {
 public:
  // Takes in a run.
  void Observe(double bytes, double nanoseconds);
  // The same where all runs are of one kernel. A run may be slow for many reasons, but none is much
  // faster than expected by accident: such a one weighs as much as all before it together.
  void ObserveSame(double bytes, double nanoseconds);

  double fixed_ns() const { return fixed_ns_; }
  double per_byte_ns() const { return per_byte_ns_; }

 private:
  void Fade(double factor);
  void Fit();

  double weight_ = 0;
  double sum_x_ = 0;
  double sum_y_ = 0;
  double sum_xx_ = 0;
  double sum_xy_ = 0;
  double fixed_ns_ = 0;
  double per_byte_ns_ = 0;
};

// The costs of one device. A batch counts as one run of all its bytes. Attributes and other
// constants do not tell lanes apart here: kernels are bound by memory, and clients must not be able
// to make lanes without end.
//
// A sequence costs what a call with its inputs and results does, and for each further step what a
// step does that finds its inputs on the device. Thread-safe.
class CostModel {
 public:
  // A run of `bytes` bytes of inputs and outputs took `took`.
  void Observe(const LaneKey& lane, uint64_t bytes, Clock::Duration took);
  // The same of a sequence, which tells something once calls have told what its ends cost.
  void ObserveSequence(const SequenceSize& size, Clock::Duration took);

  // Expected time of a run; nullopt if the lane has never been observed.
  std::optional<Clock::Duration> Estimate(const LaneKey& lane, uint64_t bytes) const;

  // The same, by what other lanes take if this one has never been observed; nullopt if none has.
  std::optional<Clock::Duration> EstimateLike(const LaneKey& lane, uint64_t bytes) const;

  // Expected time of reading and writing `bytes` bytes in all: what they take in rounding, which is
  // bound by memory, but for what each run takes; 0 if that has never been observed. Takes no lock.
  Clock::Duration EstimateCopy(uint64_t bytes) const;

  // The same as Estimate of a sequence; where none has been observed, its steps cost what calls do.
  std::optional<Clock::Duration> EstimateSequence(const SequenceSize& size) const;

  // Expected time of `runs` runs of `bytes` bytes together, of whatever lanes; 0 if nothing has
  // been observed.
  Clock::Duration EstimateAny(size_t runs, uint64_t bytes) const;

  // Forgets everything: the device was made anew.
  void Clear();

 private:
  // What tells lanes apart here, in bits: every request has its lane looked up for each device.
  using LaneBits = uint64_t;
  static LaneBits BitsOf(const LaneKey& lane);

  mutable Mutex mutex_;
  absl::flat_hash_map<LaneBits, CostLine> lanes_ ABSL_GUARDED_BY(mutex_);
  CostLine any_ ABSL_GUARDED_BY(mutex_);
  // What a step within a sequence costs.
  std::optional<CostLine> step_ ABSL_GUARDED_BY(mutex_);
  // What a byte takes in rounding; written under the lock only.
  std::atomic<double> copy_per_byte_ns_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_COST_MODEL_H_
