// Kernels of FLOAT32 and FLOAT64.

#define OPSERVE_UNIT Float
#define OPSERVE_UNIT_LANES float, double

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/unit-inl.h"

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindFloat);
FlatKernel LookupFloat(OpId op, DataType lane, int mode) {
  return HWY_DYNAMIC_DISPATCH(FindFloat)(op, lane, mode);
}
}  // namespace opserve::cpu
#endif  // HWY_ONCE
