// x * Scale + Bias, rounded once, in the type of x. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SCALE_BIAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SCALE_BIAS_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SCALE_BIAS_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SCALE_BIAS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/bodies/integer_in_double-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <FloatOrHalfTag D>
requires HasMultipliedAndAdded<D> HWY_INLINE Value<D> ApplyScaleBias(D d, Value<D> x, float scale,
                                                                     float bias) {
  return MultipliedAndAdded(d, x, scale, bias);
}

// Integers: truncated. A sum that was rounded to odd lies on the same side of every integer.
template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> ApplyScaleBias(D d, hn::Vec<D> x, float scale, float bias) {
  const hn::Rebind<double, D> dd;
  const auto by = hn::Set(dd, scale);
  const auto add = hn::Set(dd, bias);
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    // 32 digits by 24: more than a double has.
    const auto product = ExactProduct(dd, Widened(d, x), by);
    return Saturated(d, SumRoundedToOdd(dd, product.value, add, product.error));
  } else {
    return Saturated(d, SumRoundedToOdd(dd, hn::Mul(Widened(d, x), by), add));
  }
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SCALE_BIAS_INL_H_
