// The kernels of the rows of kernels/operators/softmax.def.

#include "kernels/cpu/row_kernels.h"

#include "kernels/cpu/row_scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/bodies/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// x, y and count are those of RowKernel.
#define OPSERVE_STRIP(...) __VA_ARGS__
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE)      \
  struct Op##NAME {                                                       \
    template <class T>                                                    \
    static void Compute(const std::byte* x, std::byte* y, size_t count) { \
      OPSERVE_STRIP SIMD;                                                 \
    }                                                                     \
  };
#include "kernels/operators/softmax.def"
#undef OPSERVE_OPERATOR
#undef OPSERVE_STRIP

template <class Op>
RowKernel KernelFor(DataType lane) {
  if (lane == DataType::kFloat32) return &Op::template Compute<float>;
  return lane == DataType::kFloat16 ? &Op::template Compute<hwy::float16_t> : nullptr;
}

RowKernel FindRowKernel(OpId op, DataType lane) {
#define OPSERVE_OPERATOR(NAME, ...) \
  if (op == OpId::NAME) return KernelFor<Op##NAME>(lane);
#include "kernels/operators/softmax.def"
#undef OPSERVE_OPERATOR
  return nullptr;
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindRowKernel);
RowKernel GetRowKernel(OpId op, DataType lane) {
  return HWY_DYNAMIC_DISPATCH(FindRowKernel)(op, lane);
}
}  // namespace opserve::cpu
#endif  // HWY_ONCE
