// Integers of up to 32 bits in FLOAT64 lanes. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_INTEGER_IN_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_INTEGER_IN_DOUBLE_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_INTEGER_IN_DOUBLE_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_INTEGER_IN_DOUBLE_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/rounding-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <class D>
concept IntInDoubleTag = (IntTag<D, 1> || IntTag<D, 2> || IntTag<D, 4>)&&FitsAs<D, double>;

template <IntInDoubleTag D>
HWY_INLINE hn::Vec<hn::Rebind<double, D>> Widened(D /*tag*/, hn::Vec<D> x) {
  const hn::Rebind<double, D> dd;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return ToDouble(dd, x);
  } else {
    return hn::PromoteTo(dd, hn::PromoteTo(hn::Rebind<int32_t, D>(), x));
  }
}

// Truncated toward zero and saturated; 0 for NaN.
template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> Saturated(D d, hn::Vec<hn::Rebind<double, D>> v) {
  using T = hn::TFromD<D>;
  const hn::Rebind<double, D> dd;
  const auto least = hn::Set(dd, static_cast<double>(std::numeric_limits<T>::min()));
  const auto most = hn::Set(dd, static_cast<double>(std::numeric_limits<T>::max()));
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  const auto limited = hn::Min(hn::Max(number, least), most);
  if constexpr (sizeof(T) == 4) {
    return FromDouble(d, dd, TowardZero(dd, limited));
  } else {
    return hn::DemoteTo(d, hn::DemoteTo(hn::Rebind<int32_t, D>(), limited));
  }
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_INTEGER_IN_DOUBLE_INL_H_
