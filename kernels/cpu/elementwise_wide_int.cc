// Kernels of 32 and 64-bit integers.

#define OPSERVE_UNIT WideInt
#define OPSERVE_UNIT_LANES int32_t, uint32_t, int64_t, uint64_t

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_wide_int.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/unit-inl.h"

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindWideInt);
FlatKernel LookupWideInt(OpId op, DataType lane, int mode) {
  return HWY_DYNAMIC_DISPATCH(FindWideInt)(op, lane, mode);
}
}  // namespace opserve::cpu
#endif  // HWY_ONCE
