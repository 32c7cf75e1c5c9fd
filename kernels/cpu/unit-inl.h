// The kernels of one unit: the rows of a family, expanded for some element types once per target. A
// unit (kernels/cpu/unit.cc.in) defines OPSERVE_UNIT, its name, OPSERVE_UNIT_ROWS and _BODIES, the
// files of its rows and of their bodies, and OPSERVE_UNIT_LANES, its element types, and includes
// this file under foreach_target.h.

#if defined(OPSERVE_KERNELS_CPU_UNIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_UNIT_INL_H_
#undef OPSERVE_KERNELS_CPU_UNIT_INL_H_
#else
#define OPSERVE_KERNELS_CPU_UNIT_INL_H_
#endif

#include <span>
#include <utility>

#include "hwy/highway.h"
// Their names come before those of the drivers.
#include OPSERVE_UNIT_BODIES
#include "kernels/cpu/cells.h"
#include "kernels/cpu/shapes-inl.h"
#include "kernels/op_rows.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// One functor per operator and mode. The return type is spelled out so that drivers can ask whether
// a body takes a tag.
#define OPSERVE_STRIP(...) __VA_ARGS__
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE)                         \
  struct Op##NAME {                                                                          \
    static constexpr OpId kId = OpId::NAME;                                                  \
    template <int kMode>                                                                     \
    struct Body {                                                                            \
      template <class D, class V>                                                            \
      HWY_INLINE auto operator()([[maybe_unused]] D d, [[maybe_unused]] const Attributes& p, \
                                 OPSERVE_OPERANDS_##SHAPE(hn::Mask<D>, V)) const             \
          -> decltype(OPSERVE_STRIP SIMD) {                                                  \
        return OPSERVE_STRIP SIMD;                                                           \
      }                                                                                      \
    };                                                                                       \
    template <int kMode, class T, bool kIsAlternative>                                       \
    using Step = SHAPE##Step<Body<kMode>, T, kIsAlternative>;                                \
  };
#include OPSERVE_UNIT_ROWS
#undef OPSERVE_OPERATOR
#undef OPSERVE_STRIP

// The kernel of one cell, nullptr where the operator has none.
template <class Op, class T, bool kIsAlternative, int kMode>
constexpr FlatKernel CellKernel() {
  if constexpr (HasCell(Op::kId, kLaneType<T>, kIsAlternative, kMode)) {
    return &RunFlat<typename Op::template Step<kMode, T, kIsAlternative>>;
  } else {
    return nullptr;
  }
}

template <class Op, class T, int... kMode>
constexpr RowKernels MakeRow(std::integer_sequence<int, kMode...>) {
  return {Op::kId, {CellKernel<Op, T, false, kMode>()..., CellKernel<Op, T, true, kMode>()...}};
}

// All units have these, each with rows of its own.
namespace {

// The kernels of all operators of the unit for lanes of T.
template <class T>
std::span<const RowKernels> RowsOf() {
  constexpr auto kModes = std::make_integer_sequence<int, op_rows::kMaxModes>();
  static constexpr RowKernels kRows[] = {
#define OPSERVE_OPERATOR(NAME, ...) MakeRow<Op##NAME, T>(kModes),
#include OPSERVE_UNIT_ROWS
#undef OPSERVE_OPERATOR
  };
  return kRows;
}

template <class... T>
FlatKernel FindKernel(OpId op, const KernelVariant& variant) {
  std::span<const RowKernels> rows;
  ((kLaneType<T> == variant.lane ? void(rows = RowsOf<T>()) : void()), ...);
  return FindInRows(rows, op, variant);
}

}  // namespace

// Named per unit: the tables of all units share one namespace per target.
FlatKernel HWY_CONCAT(Find, OPSERVE_UNIT)(OpId op, const KernelVariant& variant) {
  return FindKernel<OPSERVE_UNIT_LANES>(op, variant);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_UNIT_INL_H_
