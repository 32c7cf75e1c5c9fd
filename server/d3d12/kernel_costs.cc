#include "server/d3d12/kernel_costs.h"

#include <algorithm>

#include "kernels/hlsl/blobs.h"

namespace opserve::d3d12 {
namespace {

// The slow GPU that is guessed at.
constexpr double kInstructionsPerNanosecond = 50;
constexpr double kBytesPerNanosecond = 5;

// An instruction of the bytecode has at least so many bytes: its number and three operands of one
// word each.
constexpr double kBytesPerInstruction = 16;
// What a strided kernel does per loop of its plan, two divisions of integers above all.
constexpr double kInstructionsPerLoop = 60;
// What a device reads where it is asked for one element.
constexpr double kCacheLineBytes = 64;

// A run that took so long tells of kernels: submissions without work take far less.
constexpr std::chrono::milliseconds kLongRun{10};
// The share of a cost that is left after a run that was faster, at least.
constexpr double kLeastShare = 0.875;

constexpr double kMostNanoseconds = 1e15;

}  // namespace

double GuessedNanosecondsPerBlock(const KernelVariant& variant) {
  const hlsl::KernelKey& key = variant.kernel;
  const OpTraits& op = TraitsOf(key.op);
  const bool is_packed = key.layout == hlsl::LayoutClass::kPacked;
  const bool is_result = variant.stage == hlsl::RowStage::kResults;
  const uint32_t elements = is_result ? hlsl::ElementsPerBlock(key.output) : 1;
  auto bytes = static_cast<double>(elements * SizeOf(key.output));
  for (int i = 0; i < op.input_count(); ++i) {
    const auto size = static_cast<double>(SizeOf(op.InputType(i, key.lane)));
    bytes += elements * (is_packed ? size : kCacheLineBytes);
  }
  // The text may have the body once for all elements of a block, or each block of a step by itself.
  const auto code = static_cast<double>(hlsl::FindBlob(key)->code_bytes) / hlsl::BlocksPerStep(key);
  const double instructions =
      elements * (code / kBytesPerInstruction + variant.loop_count * kInstructionsPerLoop);
  return instructions / kInstructionsPerNanosecond + bytes / kBytesPerNanosecond;
}

double KernelCosts::PerBlock(const KernelVariant& variant) const {
  const auto found = learnt_.find(variant);
  return found != learnt_.end() ? found->second : GuessedNanosecondsPerBlock(variant);
}

uint64_t KernelCosts::BlocksWithin(const KernelVariant& variant,
                                   std::chrono::nanoseconds limit) const {
  MutexLock lock(mutex_);
  // Bounded where the cost is next to nothing.
  return static_cast<uint64_t>(
      std::min(static_cast<double>(limit.count()) / PerBlock(variant), kMostNanoseconds));
}

std::chrono::nanoseconds KernelCosts::Estimate(std::span<const KernelWork> work) const {
  double nanoseconds = 0;
  MutexLock lock(mutex_);
  for (const KernelWork& each : work) {
    nanoseconds += PerBlock(each.variant) * static_cast<double>(each.blocks);
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(nanoseconds, kMostNanoseconds)));
}

void KernelCosts::Observe(std::span<const KernelWork> work, std::chrono::nanoseconds took) {
  const std::chrono::nanoseconds expected = Estimate(work);
  if (expected.count() <= 0 || took.count() <= 0) return;
  // Of several kernels nobody knows which one it was.
  const double ratio = static_cast<double>(took.count()) / static_cast<double>(expected.count());
  MutexLock lock(mutex_);
  for (const KernelWork& each : work) {
    const double before = PerBlock(each.variant);
    const double seen = before * ratio;
    if (seen > before && took < kLongRun) continue;
    const bool is_guess = !learnt_.contains(each.variant);
    learnt_[each.variant] = is_guess ? seen : std::max(seen, before * kLeastShare);
  }
}

}  // namespace opserve::d3d12
