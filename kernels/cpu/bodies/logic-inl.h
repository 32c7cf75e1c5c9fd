// Bodies of logic, comparisons and tests. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_LOGIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_LOGIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_LOGIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_LOGIC_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Flags as elements: 1 or 0.
template <IntegerTag D>
HWY_INLINE hn::Vec<D> OneWhere(D d, hn::Mask<D> holds) {
  return hn::IfThenElseZero(holds, hn::Set(d, 1));
}

template <IntegerTag D>
HWY_INLINE hn::Mask<D> IsTrue(D d, hn::Vec<D> x) {
  return hn::Ne(x, hn::Zero(d));
}

template <NumberTag D>
HWY_INLINE hn::Mask<D> Equals(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Eq(x, y);
}

template <NumberTag D>
HWY_INLINE hn::Mask<D> Exceeds(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Gt(x, y);
}

// x >= y; false for NaN.
template <NumberTag D>
HWY_INLINE hn::Mask<D> Reaches(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (IntegerTag<D>) {
    return hn::Not(hn::Gt(y, x));
  } else {
    return hn::Ge(x, y);
  }
}

template <FloatTag D>
HWY_INLINE hn::Mask<D> IsNan(D /*tag*/, hn::Vec<D> x) {
  return hn::IsNaN(x);
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> Sign(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const auto zero = hn::Zero(d);
  const auto positive = hn::IfThenElseZero(hn::Gt(x, zero), hn::Set(d, T{1}));
  if constexpr (std::unsigned_integral<T>) {
    return positive;
  } else {
    return hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, static_cast<T>(-1)), positive);
  }
}

// ------------------------------------------------------------------ IS_INFINITY

enum InfinityMode { kEither, kPositive, kNegative };

template <int kMode, FloatOrHalfTag D>
HWY_INLINE hn::Mask<BitsTag<D>> IsInfinity(D /*tag*/, Value<D> x) {
  using TBits = hn::TFromD<BitsTag<D>>;
  constexpr int kExponentBits = sizeof(TBits) == 2 ? 5 : sizeof(TBits) == 4 ? 8 : 11;
  constexpr auto kOnes = static_cast<TBits>((TBits{1} << kExponentBits) - 1);
  constexpr auto kInfinity = static_cast<TBits>(kOnes << (sizeof(TBits) * 8 - 1 - kExponentBits));
  constexpr auto kSign = static_cast<TBits>(TBits{1} << (sizeof(TBits) * 8 - 1));

  const BitsTag<D> du;
  const auto bits = hn::BitCast(du, x);
  if constexpr (kMode == kEither) {
    // The sum drops the sign.
    return hn::Eq(hn::Add(bits, bits), hn::Set(du, static_cast<TBits>(kInfinity << 1)));
  } else {
    return hn::Eq(bits, hn::Set(du, kMode == kPositive ? kInfinity : TBits{kInfinity | kSign}));
  }
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_LOGIC_INL_H_
