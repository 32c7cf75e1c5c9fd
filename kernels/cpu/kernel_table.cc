#include "kernels/cpu/kernel_table.h"

#include <string>

#include "hwy/highway.h"
#include "kernels/cpu/cells.h"
#include "kernels/cpu/cpu_executor.h"

namespace opserve {
namespace cpu {

FlatKernel GetKernel(OpId op, DataType lane, int mode) {
  if (mode < 0 || mode >= op_rows::kMaxModes) return nullptr;
  const OpTraits& traits = TraitsOf(op);
  if (!traits.lane_types().contains(lane)) return nullptr;
  if (traits.shape.moves_bits) lane = UnsignedOfSameSize(lane);
  for (auto* look_up : {&LookupFloat, &LookupHalf, &LookupSmallInt, &LookupWideInt}) {
    if (FlatKernel kernel = look_up(op, lane, mode)) return kernel;
  }
  return nullptr;
}

}  // namespace cpu

std::string CpuTargetName() {
  // Lower bits are better targets.
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace opserve
