// The kernels of one group of element types: the operator table, expanded once per target. A unit
// (elementwise_*.cc) defines OPSERVE_UNIT, its name, and OPSERVE_UNIT_LANES, its element types, and
// includes this file under foreach_target.h.

#if defined(OPSERVE_KERNELS_CPU_UNIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_UNIT_INL_H_
#undef OPSERVE_KERNELS_CPU_UNIT_INL_H_
#else
#define OPSERVE_KERNELS_CPU_UNIT_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/cells.h"
#include "kernels/cpu/ops-inl.h"
#include "kernels/cpu/shapes-inl.h"
#include "kernels/op_rows.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// One functor per operator and mode. The return type is spelled out so that drivers can ask whether
// a body takes a tag.
#define OPSERVE_STRIP(...) __VA_ARGS__
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE)             \
  struct Op##NAME {                                                              \
    static constexpr OpId kId = OpId::NAME;                                      \
    template <int kMode>                                                         \
    struct Body {                                                                \
      template <class D, class V>                                                \
      HWY_INLINE auto operator()([[maybe_unused]] D d,                           \
                                 OPSERVE_OPERANDS_##SHAPE(hn::Mask<D>, V)) const \
          -> decltype(OPSERVE_STRIP SIMD) {                                      \
        return OPSERVE_STRIP SIMD;                                               \
      }                                                                          \
    };                                                                           \
    template <int kMode, class T>                                                \
    using Step = SHAPE##Step<Body<kMode>, T>;                                    \
  };
#include "kernels/elementwise.def"
#undef OPSERVE_OPERATOR
#undef OPSERVE_STRIP

// The kernel of one cell, nullptr where the operator has none.
template <class Op, class T, int kMode>
constexpr FlatKernel CellKernel() {
  if constexpr (HasCell(Op::kId, kLaneType<T>, kMode)) {
    return &RunFlat<typename Op::template Step<kMode, T>>;
  } else {
    return nullptr;
  }
}

template <class T>
constexpr KernelsOfType MakeKernelsOfType() {
  return {{
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE)      \
  ModeKernels{CellKernel<Op##NAME, T, 0>(), CellKernel<Op##NAME, T, 1>(), \
              CellKernel<Op##NAME, T, 2>(), CellKernel<Op##NAME, T, 3>()},
#include "kernels/elementwise.def"
#undef OPSERVE_OPERATOR
  }};
}

template <class... T>
FlatKernel FindKernel(OpId op, DataType lane, int mode) {
  static constexpr KernelsOfType kKernels[] = {MakeKernelsOfType<T>()...};
  constexpr DataType kTypes[] = {kLaneType<T>...};
  for (size_t i = 0; i < sizeof...(T); ++i) {
    if (kTypes[i] == lane) return kKernels[i][static_cast<size_t>(op)][static_cast<size_t>(mode)];
  }
  return nullptr;
}

// Named per unit: the tables of all units share one namespace per target.
FlatKernel HWY_CONCAT(Find, OPSERVE_UNIT)(OpId op, DataType lane, int mode) {
  return FindKernel<OPSERVE_UNIT_LANES>(op, lane, mode);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_UNIT_INL_H_
