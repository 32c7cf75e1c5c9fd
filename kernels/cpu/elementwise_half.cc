// Kernels of FLOAT16.

#define OPSERVE_UNIT Half
#define OPSERVE_UNIT_LANES hwy::float16_t

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_half.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/unit-inl.h"

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindHalf);
FlatKernel LookupHalf(OpId op, DataType lane, int mode) {
  return HWY_DYNAMIC_DISPATCH(FindHalf)(op, lane, mode);
}
}  // namespace opserve::cpu
#endif  // HWY_ONCE
