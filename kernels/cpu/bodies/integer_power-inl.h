// Powers of integers of up to 32 bits. Included once per target.
//
// Exponents are numbers of any type, widened to FLOAT64. Negative ones leave nothing of a base but
// of 1 and -1, not even of 0.

#if defined(OPSERVE_KERNELS_CPU_BODIES_INTEGER_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_INTEGER_POWER_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_INTEGER_POWER_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_INTEGER_POWER_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/integer_in_double-inl.h"
#include "kernels/cpu/bodies/power-inl.h"
#include "kernels/cpu/bodies/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Whole exponents

// Lanes must hold whole numbers.
template <DoubleTag D>
HWY_INLINE hn::Mask<D> IsOdd(D d, hn::Vec<D> x) {
  const auto half = hn::Mul(x, hn::Set(d, 0.5));
  return hn::Gt(hn::Abs(hn::Sub(half, TowardZero(d, half))), hn::Zero(d));
}

// The base, or 0 where a negative exponent leaves nothing of it.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> BaseThatIsLeft(D d, hn::Vec<D> base, hn::Vec<D> exponent) {
  const auto is_negative = hn::Lt(exponent, hn::Zero(d));
  const auto is_one = hn::Eq(hn::Abs(base), hn::Set(d, 1));
  return hn::IfThenZeroElse(hn::AndNot(is_one, is_negative), base);
}

// The power of integers with magnitudes below 2^32, where exponents are whole, or infinite: exact
// below 2^33, at least 2^33 where it is that large.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> WholePowerOf(D d, hn::Vec<D> base, hn::Vec<D> exponent) {
  const auto most = hn::Set(d, 0x1p33);
  const auto half = hn::Set(d, 0.5);
  const auto left = BaseThatIsLeft(d, base, exponent);
  auto power = hn::Set(d, 1);
  // Powers of two, which are the smallest, reach the limit with an exponent of 33.
  auto steps = hn::Min(hn::Abs(exponent), hn::Set(d, 63));
  auto factor = hn::Abs(left);
  while (!hn::AllFalse(d, hn::Gt(steps, hn::Zero(d)))) {
    const auto multiplied = hn::Min(hn::Mul(power, factor), most);
    power = hn::IfThenElse(IsOdd(d, steps), multiplied, power);
    factor = hn::Min(hn::Mul(factor, factor), most);
    steps = TowardZero(d, hn::Mul(steps, half));
  }
  const auto sign = hn::And(base, hn::SignBit(d));
  return hn::Xor(power, hn::IfThenElseZero(IsOdd(d, exponent), sign));
}

// The exponents are integers of up to 32 bits. Results of 8 and 16 bits saturate.
template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> IntegerPower(D d, hn::Vec<D> x, hn::Vec<hn::Rebind<double, D>> exponent) {
  return Saturated(d, WholePowerOf(hn::Rebind<double, D>(), Widened(d, x), exponent));
}

// Those of 32 bits wrap.
template <Int32InDoubleTag D>
HWY_INLINE hn::Vec<D> IntegerPower(D d, hn::Vec<D> x, hn::Vec<hn::Rebind<double, D>> exponent) {
  const hn::Rebind<double, D> dd;
  const BitsTag<D> du;
  const auto one = hn::Set(du, 1);
  auto factor = hn::BitCast(du, FromDouble(d, dd, BaseThatIsLeft(dd, ToDouble(dd, x), exponent)));
  auto steps = FromDouble(du, dd, hn::Abs(exponent));
  auto power = one;
  while (!hn::AllTrue(du, hn::Eq(steps, hn::Zero(du)))) {
    const auto is_odd = hn::Eq(hn::And(steps, one), one);
    power = hn::IfThenElse(is_odd, hn::Mul(power, factor), power);
    factor = hn::Mul(factor, factor);
    steps = hn::ShiftRight<1>(steps);
  }
  return hn::BitCast(d, power);
}

// ------------------------------------------------------------------ Exponents of floats

// `power` of PowOf, with those lanes replaced that lie so near to an integer that numbers within
// the error lie on both its sides, or are it.
template <DoubleTag D>
HWY_NOINLINE hn::Vec<D> SettledAtIntegers(D d, hn::Vec<D> power, hn::Vec<D> x, hn::Vec<D> y) {
  HWY_ALIGN double results[MaxLanes(D())];
  HWY_ALIGN double inputs[2][MaxLanes(D())];
  hn::Store(power, d, results);
  hn::Store(x, d, inputs[0]);
  hn::Store(y, d, inputs[1]);
  for (size_t i = 0; i < Lanes(d); ++i) {
    const double error = std::abs(results[i]) * std::ldexp(1.0, -PowFunction::kErrorBits);
    if (!(error > 0) || !std::isfinite(error)) continue;
    if (std::trunc(results[i] - error) == std::trunc(results[i] + error)) continue;
    results[i] = SlowAt(PowFunction(), inputs, i, std::make_index_sequence<2>());
  }
  return hn::Load(d, results);
}

// The power of integers, where exponents are not whole: on the same side of all integers below 2^33
// as the exact power. 0 below zero, where there is none, and for NaN.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> FractionalPowerOf(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto one = hn::Set(d, 1);
  // Others are 0, or less than one.
  const auto is_growing = hn::And(hn::Gt(x, one), hn::Gt(y, hn::Zero(d)));
  auto power = hn::IfThenElseZero(is_growing, PowOf(d, x, y));
  const auto error = hn::Mul(power, hn::Set(d, std::ldexp(1.0, -PowFunction::kErrorBits)));
  const auto from_integer = hn::Abs(hn::Sub(power, NearestEven(d, power)));
  const auto is_small = hn::And(is_growing, hn::Lt(power, hn::Set(d, 0x1p33)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::And(is_small, hn::Le(from_integer, error))))) {
    power = SettledAtIntegers(d, power, x, y);
  }
  return hn::IfThenElse(hn::Eq(x, one), one, power);
}

// The exponents are floats: truncated toward zero and saturated, 0 for NaN.
template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> TruncatedPower(D d, hn::Vec<D> x, hn::Vec<hn::Rebind<double, D>> exponent) {
  const hn::Rebind<double, D> dd;
  const auto wide = Widened(d, x);
  auto power = WholePowerOf(dd, wide, exponent);
  const auto is_whole = hn::Eq(TowardZero(dd, exponent), exponent);
  if (!hn::AllTrue(dd, is_whole)) {
    power = hn::IfThenElse(is_whole, power, FractionalPowerOf(dd, wide, exponent));
  }
  return Saturated(d, power);
}

// ------------------------------------------------------------------ POW

template <IntInDoubleTag D, class V>
HWY_INLINE hn::Vec<D> Pow(D d, hn::Vec<D> x, const WholeNumbers<V>& exponent) {
  return IntegerPower(d, x, exponent.lanes);
}

template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> Pow(D d, hn::Vec<D> x, hn::Vec<hn::Rebind<double, D>> exponent) {
  return TruncatedPower(d, x, exponent);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_INTEGER_POWER_INL_H_
