// Bodies of quantisation: scales, zero points and what they go with are FLOAT64 lanes, whatever
// their types are in memory. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_QUANTIZATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_QUANTIZATION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_QUANTIZATION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_QUANTIZATION_INL_H_
#endif

#include <concepts>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/integer_in_double-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/rounding-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <class D>
concept ByteInDoubleTag = IntTag<D, 1> && FitsAs<D, double>;

// As many FLOAT64 lanes as the tag D has.
template <class D>
using Doubles = hn::Vec<hn::Rebind<double, D>>;

// ------------------------------------------------------------------ QUANTIZE_LINEAR

// The double next to v / scale rounds to the same integer as the exact quotient does. Near a middle
// of ten bits between two integers, v and the product of that middle and the scale have at most 31
// and 35 digits: if they differ, then by more than 2^-36 of either, and quotients by far less.
// Beyond such middles every result saturates.
template <ByteInDoubleTag D>
HWY_INLINE hn::Vec<D> Quantize(D d, Doubles<D> v, Doubles<D> scale, Doubles<D> zero_point) {
  const hn::Rebind<double, D> dd;
  const auto quotient = hn::Div(v, scale);
  const auto result = hn::Add(NearestEven(dd, quotient), zero_point);
  // NaNs become 0, without the zero point.
  return Saturated(d, hn::IfThenElseZero(hn::Eq(quotient, quotient), result));
}

// ------------------------------------------------------------------ DEQUANTIZE_LINEAR

// (v - zero_point) * scale, rounded once. Differences of integers of 32 bits are exact.
template <FloatInDoubleTag D>
HWY_INLINE hn::Vec<D> Dequantize(D d, Doubles<D> v, Doubles<D> scale, Doubles<D> zero_point) {
  const hn::Rebind<double, D> dd;
  return Narrowed(d, RoundedToOdd(dd, ExactProduct(dd, hn::Sub(v, zero_point), scale)));
}

// The product of 33 digits and 11 is exact.
template <HalfInDoubleTag D>
HWY_INLINE Value<D> Dequantize(D d, Doubles<D> v, Doubles<D> scale, Doubles<D> zero_point) {
  return Narrowed(d, hn::Mul(hn::Sub(v, zero_point), scale));
}

// ------------------------------------------------------------------ QUANTIZED_LINEAR_ADD

// The integer next to the exact (value + error) / scale, to even where two are equally near.
// Quotients beyond a thousand become others beyond it; NaNs become anything. `quotient` is that of
// the value.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> NearestToQuotient(D d, const Exact<D>& sum, hn::Vec<D> scale,
                                        hn::Vec<D> quotient) {
  const auto limited = hn::Min(hn::Max(quotient, hn::Set(d, -1024)), hn::Set(d, 1024));
  // No other middle than this one can be next to the exact quotient.
  const auto middle = hn::Add(RoundedDown(d, limited), hn::Set(d, 0.5));
  // The product is exact, and as the value is the double nearest to the sum, the two compare as the
  // sum and the product do; where they are equal the error decides.
  const auto above = hn::Sub(sum.value, hn::Mul(middle, scale));
  const auto zero = hn::Zero(d);
  const auto side = hn::IfThenElse(hn::Eq(above, zero), sum.error, above);
  const auto quarter =
      hn::CopySign(hn::Set(d, 0.25), hn::Xor(side, hn::And(scale, hn::SignBit(d))));
  return NearestEven(d, hn::Add(middle, hn::IfThenZeroElse(hn::Eq(side, zero), quarter)));
}

// An integer with its scale and its zero point.
template <class V>
struct QuantizedLanes {
  V value;
  V scale;
  V zero_point;
};

// The number that it stands for: 9 bits by 24 are exact.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> Dequantized(D /*tag*/, const QuantizedLanes<hn::Vec<D>>& x) {
  return hn::Mul(hn::Sub(x.value, x.zero_point), x.scale);
}

template <ByteInDoubleTag D>
HWY_INLINE hn::Vec<D> AddQuantized(D d, const QuantizedLanes<Doubles<D>>& a,
                                   const QuantizedLanes<Doubles<D>>& b, Doubles<D> scale,
                                   Doubles<D> zero_point) {
  const hn::Rebind<double, D> dd;
  const auto sum = ExactSum(dd, Dequantized(dd, a), Dequantized(dd, b));
  const auto quotient = hn::Div(sum.value, scale);
  const auto result = hn::Add(NearestToQuotient(dd, sum, scale, quotient), zero_point);
  const auto least = hn::Set(dd, static_cast<double>(std::numeric_limits<hn::TFromD<D>>::min()));
  return Saturated(d, hn::IfThenElse(hn::Eq(quotient, quotient), result, least));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_QUANTIZATION_INL_H_
