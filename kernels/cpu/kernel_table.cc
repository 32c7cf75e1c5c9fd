#include "kernels/cpu/kernel_table.h"

#include <string>

#include "hwy/highway.h"
#include "kernels/cpu/cells.h"
#include "kernels/cpu/cpu_executor.h"

namespace opserve {
namespace cpu {

namespace {

enum LaneGroup { kFloat, kHalf, kSmallInt, kWideInt };
constexpr int kLaneGroupCount = 4;

LaneGroup GroupOf(DataType lane) {
  if (lane == DataType::kFloat16) return kHalf;
  if (lane == DataType::kFloat32 || lane == DataType::kFloat64) return kFloat;
  return SizeOf(lane) < 4 ? kSmallInt : kWideInt;
}

// By family, and by group of lane types.
constexpr FlatKernel (*kLookups[kOpFamilyCount * kLaneGroupCount])(OpId, const KernelVariant&) = {
#define OPSERVE_UNIT_ENTRY(FAMILY, GROUP) &Lookup##FAMILY##GROUP,
    OPSERVE_ALL_UNITS(OPSERVE_UNIT_ENTRY)
#undef OPSERVE_UNIT_ENTRY
};

}  // namespace

FlatKernel FindInRows(std::span<const RowKernels> rows, OpId op, const KernelVariant& variant) {
  const int at = variant.mode + (IsAlternative(TraitsOf(op), variant) ? op_rows::kMaxModes : 0);
  for (const RowKernels& row : rows) {
    if (row.op == op) return row.kernels[static_cast<size_t>(at)];
  }
  return nullptr;
}

FlatKernel GetKernel(OpId op, const KernelVariant& variant) {
  if (variant.mode < 0 || variant.mode >= op_rows::kMaxModes) return nullptr;
  const OpTraits& traits = TraitsOf(op);
  if (traits.shape.is_row) return nullptr;
  if (!traits.lane_types().contains(variant.lane)) return nullptr;
  if (!traits.OutputTypes(variant.lane).contains(variant.output)) return nullptr;
  KernelVariant stored = variant;
  if (traits.shape.is_bitwise) stored.lane = UnsignedOfSameSize(variant.lane);
  const size_t unit = static_cast<size_t>(traits.family) * kLaneGroupCount + GroupOf(stored.lane);
  return kLookups[unit](op, stored);
}

}  // namespace cpu

std::string CpuTargetName() {
  // Lower bits are better targets.
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace opserve
