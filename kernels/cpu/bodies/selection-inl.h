// Bodies of selection. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SELECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SELECTION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SELECTION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SELECTION_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"
#include "kernels/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// NaNs become quiet. By bits: compilers take sums with zero for the other operand.
template <FloatTag D>
HWY_INLINE hn::Vec<D> Quiet(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  using TBits = hn::TFromD<decltype(du)>;
  constexpr auto kQuietBit =
      static_cast<TBits>(TBits{1} << (std::numeric_limits<hn::TFromD<D>>::digits - 2));
  const auto quieted = hn::BitCast(d, hn::Or(hn::BitCast(du, x), hn::Set(du, kQuietBit)));
  return hn::IfThenElse(hn::IsNaN(x), quieted, x);
}

// The lesser: x where neither is less, the other where one is NaN.
template <NumberTag D>
HWY_INLINE hn::Vec<D> LesserOf(D d, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (IntegerTag<D>) {
    return hn::Min(x, y);
  } else {
    return Quiet(d, hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(y, x)), y, x));
  }
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> GreaterOf(D d, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (IntegerTag<D>) {
    return hn::Max(x, y);
  } else {
    return Quiet(d, hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(y, x)), y, x));
  }
}

// A FLOAT attribute as an element: truncated and saturated where those are integers, 0 for NaN.
template <class T>
HWY_INLINE T LimitOf(float attribute) {
  if constexpr (std::floating_point<T>) {
    return attribute;
  } else {
    constexpr T kLeast = std::numeric_limits<T>::min();
    constexpr T kMost = std::numeric_limits<T>::max();
    if (attribute != attribute) return 0;
    // The largest value rounds to the power of two above it.
    if (attribute >= static_cast<float>(kMost)) return kMost;
    if (attribute <= static_cast<float>(kLeast)) return kLeast;
    return static_cast<T>(attribute);
  }
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> Limit(D d, float attribute) {
  return hn::Set(d, LimitOf<hn::TFromD<D>>(attribute));
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> Limit(D d, Scalar attribute) {
  return hn::Set(d, attribute.As<hn::TFromD<D>>());
}

// ------------------------------------------------------------------ Gradients

// Conditions by which gradients pass. TLimit is a FLOAT or a scalar.
template <class TLimit>
struct Between {
  template <NumberTag D>
  HWY_INLINE hn::Mask<D> operator()(D d, hn::Vec<D> x) const {
    return hn::And(hn::Gt(x, Limit(d, min)), hn::Lt(x, Limit(d, max)));
  }
  TLimit min;
  TLimit max;
};
template <class TLimit>
Between(TLimit, TLimit) -> Between<TLimit>;

struct Positive {
  template <NumberTag D>
  HWY_INLINE hn::Mask<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Gt(x, hn::Zero(d));
  }
};

// The bits of y where x fulfils the condition, zero elsewhere.
template <NumberTag D, class Condition>
HWY_INLINE hn::Vec<D> Where(D d, hn::Vec<D> x, hn::Vec<D> y, const Condition& condition) {
  return hn::IfThenElseZero(condition(d, x), y);
}

template <HalfInFloatTag D, class Condition>
HWY_INLINE Value<D> Where(D /*tag*/, Value<D> x, Value<D> y, const Condition& condition) {
  const hn::Rebind<float, D> df;
  const BitsTag<D> du;
  const BitsTag<decltype(df)> du32;
  const auto passes = hn::RebindMask(du32, condition(df, PromoteHalf(df, x)));
  return hn::IfThenElseZero(ConvertMask(du, du32, passes), y);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SELECTION_INL_H_
