// Kernels of 8 and 16-bit integers.

#define OPSERVE_UNIT SmallInt
#define OPSERVE_UNIT_LANES int8_t, uint8_t, int16_t, uint16_t

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_small_int.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/unit-inl.h"

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindSmallInt);
FlatKernel LookupSmallInt(OpId op, DataType lane, int mode) {
  return HWY_DYNAMIC_DISPATCH(FindSmallInt)(op, lane, mode);
}
}  // namespace opserve::cpu
#endif  // HWY_ONCE
