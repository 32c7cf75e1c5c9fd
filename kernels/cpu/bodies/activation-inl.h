// Bodies of activations. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ACTIVATION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ACTIVATION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ACTIVATION_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/arithmetic-inl.h"
#include "kernels/cpu/bodies/integer_in_double-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/selection-inl.h"
#include "kernels/cpu/bodies/smooth_activation-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Zero where x <= alpha; a NaN stays one.
template <FloatTag D>
HWY_INLINE hn::Vec<D> ThresholdedRelu(D d, hn::Vec<D> x, float alpha) {
  return hn::IfThenZeroElse(hn::Le(x, hn::Set(d, alpha)), Quiet(d, x));
}

// ------------------------------------------------------------------ LEAKY_RELU, PARAMETERIZED_RELU

// x where it is not negative, elsewhere the product, also of NaNs.
template <NumberTag D>
HWY_INLINE hn::Vec<D> UnlessNegative(D d, hn::Vec<D> x, hn::Vec<D> product) {
  if constexpr (IntegerTag<D>) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), product, x);
  } else {
    return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, product);
  }
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> ParameterizedRelu(D d, hn::Vec<D> x, hn::Vec<D> slope) {
  return UnlessNegative(d, x, Multiplied(d, x, slope));
}

template <FloatTag D>
HWY_INLINE hn::Vec<D> LeakyRelu(D d, hn::Vec<D> x, float alpha) {
  return ParameterizedRelu(d, x, hn::Set(d, alpha));
}

// FLOAT16: products with a FLOAT32 are exact only in FLOAT64 lanes.
template <HalfInDoubleTag D>
HWY_INLINE Value<D> LeakyRelu(D d, Value<D> x, float alpha) {
  return Narrowed(d, LeakyRelu(hn::Rebind<double, D>(), Widened(d, x), alpha));
}

// ------------------------------------------------------------------ HARD_SIGMOID

// Limited to 0 to 1; 0 for NaN.
template <FloatTag D>
HWY_INLINE hn::Vec<D> LimitedToUnit(D d, hn::Vec<D> v) {
  return hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), hn::Min(v, hn::Set(d, 1)));
}

// Limits after rounding: no number between them rounds to one beyond.
template <FloatTag D>
requires HasMultipliedAndAdded<D> HWY_INLINE hn::Vec<D> HardSigmoid(D d, hn::Vec<D> x, float alpha,
                                                                    float beta) {
  return LimitedToUnit(d, MultipliedAndAdded(d, x, alpha, beta));
}

template <HalfInDoubleTag D>
HWY_INLINE Value<D> HardSigmoid(D d, Value<D> x, float alpha, float beta) {
  const hn::Rebind<double, D> dd;
  const auto product = hn::Mul(Widened(d, x), hn::Set(dd, alpha));
  return Narrowed(d, LimitedToUnit(dd, SumRoundedToOdd(dd, product, hn::Set(dd, beta))));
}

// ------------------------------------------------------------------ SOFTSIGN

// x / (1 + |x|). Where the denominator is inexact, the quotient is far nearer to x, or to 1, than
// to any other FLOAT32.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> Softsign(D d, Value<D> x) {
  const hn::Rebind<double, D> dd;
  const auto dividend = Widened(d, x);
  const auto magnitude = hn::Abs(dividend);
  const auto one = hn::Set(dd, 1);
  const auto divisor = hn::Add(magnitude, one);
  const auto q = hn::Div(dividend, divisor);
  const auto odd = RoundedToOdd(dd, {q, RestOfQuotient(dd, dividend, divisor, q)});
  const auto is_infinite = hn::Eq(magnitude, hn::Inf(dd));
  return Narrowed(d, hn::IfThenElse(is_infinite, hn::CopySign(one, dividend), odd));
}

// ------------------------------------------------------------------ SHRINK

// What x is moved by where it is beyond the threshold.
template <FloatTag D>
struct ShrinkStep {
  hn::Vec<D> by;
  hn::Mask<D> applies;
};

template <FloatTag D>
HWY_INLINE ShrinkStep<D> StepToZero(D d, hn::Vec<D> x, float bias, float threshold) {
  const auto is_above = hn::Gt(x, hn::Set(d, threshold));
  const auto is_below = hn::Lt(x, hn::Set(d, -threshold));
  return {hn::IfThenElse(is_above, hn::Set(d, -bias), hn::Set(d, bias)),
          hn::Or(is_above, is_below)};
}

template <FloatTag D>
HWY_INLINE hn::Vec<D> Shrink(D d, hn::Vec<D> x, float bias, float threshold) {
  const ShrinkStep<D> step = StepToZero(d, x, bias, threshold);
  return hn::IfThenElseZero(step.applies, hn::Add(x, step.by));
}

// The exact result in FLOAT64 lanes, rounded to odd.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> ShrinkToOdd(D dd, hn::Vec<D> x, float bias, float threshold) {
  const ShrinkStep<D> step = StepToZero(dd, x, bias, threshold);
  return hn::IfThenElseZero(step.applies, SumRoundedToOdd(dd, x, step.by));
}

template <HalfInDoubleTag D>
HWY_INLINE Value<D> Shrink(D d, Value<D> x, float bias, float threshold) {
  return Narrowed(d, ShrinkToOdd(hn::Rebind<double, D>(), Widened(d, x), bias, threshold));
}

// Integers: rounded half to even.
template <IntInDoubleTag D>
HWY_INLINE hn::Vec<D> Shrink(D d, hn::Vec<D> x, float bias, float threshold) {
  const hn::Rebind<double, D> dd;
  return Saturated(d, NearestEven(dd, ShrinkToOdd(dd, Widened(d, x), bias, threshold)));
}

// ------------------------------------------------------------------ HARD_SWISH

// x * c for a c of zero. Infinite x has the limit at infinity, if the linear function has one.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> TimesZero(D d, hn::Vec<D> x, float alpha, float beta) {
  const bool has_limit = std::isfinite(alpha) && std::isfinite(beta) && alpha != 0;
  if (!has_limit) return hn::Mul(x, hn::Zero(d));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Zero(d), x));
}

// x * (alpha_x + beta), rounded to odd: x * alpha_x in two exact parts, and x * beta.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> TimesSumToOdd(D d, hn::Vec<D> x, hn::Vec<D> alpha_x, hn::Vec<D> beta) {
  const auto square = ExactProduct(d, alpha_x, x);
  return SumRoundedToOdd(d, square.value, hn::Mul(beta, x), square.error);
}

// With two roundings, whose errors the narrower type seldom sees. Those of the linear function move
// it neither across 0 nor across 1.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> HardSwish(D d, Value<D> x, float alpha, float beta) {
  const hn::Rebind<double, D> dd;
  const auto zero = hn::Zero(dd);
  const auto wide = Widened(d, x);
  const auto add = hn::Set(dd, beta);
  const auto product = hn::Mul(wide, hn::Set(dd, alpha));
  const auto linear = hn::Add(product, add);
  const auto limited = hn::Mul(wide, LimitedToUnit(dd, linear));
  auto result = hn::IfThenElse(hn::Gt(linear, zero), limited, TimesZero(dd, wide, alpha, beta));
  if (HWY_UNLIKELY(!NarrowSafely(d, result))) {
    const auto is_inside = hn::And(hn::Gt(linear, zero), hn::Lt(linear, hn::Set(dd, 1)));
    // Where x is a zero, a sum of zeros would not have the sign of their product.
    const auto has_sum = hn::And(is_inside, hn::Ne(wide, zero));
    result = hn::IfThenElse(has_sum, TimesSumToOdd(dd, wide, product, add), result);
  }
  return Narrowed(d, result);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ACTIVATION_INL_H_
