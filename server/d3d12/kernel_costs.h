// File: server/d3d12/kernel_costs.h
//
// How long kernels take on a device, so that no dispatch is made that takes too long. What the
// device did teaches it; until then a guess serves.

#ifndef OPSERVE_SERVER_D3D12_KERNEL_COSTS_H_
#define OPSERVE_SERVER_D3D12_KERNEL_COSTS_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kernels/hlsl/kernel_key.h"
#include "proto/base/mutex.h"

namespace opserve::d3d12 {

// A kernel as costs tell it apart: strided ones take longer for more loops, and those of rows do
// something else in each stage.
struct KernelVariant {
  hlsl::KernelKey kernel;
  uint32_t loop_count = 0;
  hlsl::RowStage stage = hlsl::RowStage::kResults;

  bool operator==(const KernelVariant&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const KernelVariant& variant) {
    return H::combine(std::move(h), variant.kernel, variant.loop_count, variant.stage);
  }
};

// Blocks of a kernel that a submission computes; of rows, in stages before the last one, elements
// and records that it reads.
struct KernelWork {
  KernelVariant variant;
  uint64_t blocks = 0;
};

// What a block of the kernel takes on a slow GPU, as far as the kernel's length and the bytes that
// it touches tell: one of the least kind that has Direct3D 12 does 50 simple instructions per
// nanosecond, all threads together, and moves 5 bytes in it. Nanoseconds. The kernel must be one of
// hlsl::AllBlobs().
double GuessedNanosecondsPerBlock(const KernelVariant& variant);

// The costs of one device. Thread-safe.
class KernelCosts {
 public:
  // Blocks, as KernelWork counts them, that the device is expected to compute within `limit`; 0:
  // not even one.
  uint64_t BlocksWithin(const KernelVariant& variant, std::chrono::nanoseconds limit) const;

  // How long the device is expected to take for all of `work`.
  std::chrono::nanoseconds Estimate(std::span<const KernelWork> work) const;

  // A submission of `work` took `took`, with all that it did beside kernels: none of them took
  // longer. So it can always lower what is expected: at once where that was a guess, else step by
  // step, because the time of some kernels depends on the numbers that they are given. It raises
  // that, at once, only if it was long enough for the rest to be little of it.
  void Observe(std::span<const KernelWork> work, std::chrono::nanoseconds took);

 private:
  double PerBlock(const KernelVariant& variant) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // Nanoseconds per block. There are no more of them than kernels and numbers of loops.
  absl::flat_hash_map<KernelVariant, double> learnt_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_KERNEL_COSTS_H_
