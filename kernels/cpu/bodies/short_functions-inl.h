// Elementary functions in FLOAT32 lanes, for results of FLOAT16. Included once per target.
//
// Of exactly widened FLOAT16 numbers they give results with a relative error below 2^-21.2, as
// tests/conformance/short_functions_test.cc shows for all of them; results that are nearer to zero
// than half of the least FLOAT16 may be any such number of the same sign. The algorithms are those
// of the FLOAT64 lanes, with fewer terms; functions that differ in nothing else stand beside
// theirs.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SHORT_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SHORT_FUNCTIONS_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SHORT_FUNCTIONS_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SHORT_FUNCTIONS_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/reduced_angle-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ SOFTPLUS

// max(x, 0) + ln(1 + y), where y = e^-|x|: from sqrt(2) - 1 on by ln 2 + ln(1 + (y - 1) / 2), so
// that no sum is rounded before the logarithm.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> SoftplusOf(D d, hn::Vec<D> x) {
  const auto y = ExpOf(d, hn::Or(x, hn::SignBit(d)));
  const auto half = hn::Set(d, 0.5f);
  const auto is_large = hn::Gt(y, hn::Set(d, 0.4142135f));
  const auto rest = hn::IfThenElse(is_large, hn::MulSub(y, half, half), y);
  const auto whole = hn::IfThenElseZero(is_large, InLanes(d, kLn2));
  const auto log1p = hn::MulAdd(rest, PolynomialOf(d, rest, kFloatLog1p), whole);
  return hn::Add(hn::Max(x, hn::Zero(d)), log1p);
}

// ------------------------------------------------------------------ SIN, COS, TAN

// x less the nearest of the multiples of pi; NaN for infinities and NaNs.
template <int kMultiples, FullFloatTag D>
HWY_INLINE ReducedAngle<D> ReducedAngleOf(D d, hn::Vec<D> x) {
  const auto nearest = NearestMultipleTo<kMultiples>(d, hn::Mul(x, hn::Set(d, 0x1.45f306p-2f)));
  // pi in parts of eight digits, three times, and 24. Multiples have up to 16 digits, so that the
  // first three products are exact, and so are the differences where the rest is small.
  auto rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.92p+1f), x);
  rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.fap-11f), rest);
  rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.54p-19f), rest);
  return {nearest.count, hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.10b46p-29f), rest)};
}

// (sin(r) / r - 1) / r^2 in powers of r^2, for |r| < 1.58: sin(r) within 2^-27.2 of it.
inline constexpr std::array kFloatSineTerms = {-0x1.55554cp-3f, 0x1.110ebep-7f, -0x1.9f6bf0p-13f,
                                               0x1.5d8188p-19f};
// (cos(r) - 1) / r^2 in powers of r^2, for |r| < 0.79: cos(r) within 2^-33.7 of it.
inline constexpr std::array kFloatCosineTerms = {-0x1.000000p-1f, 0x1.55553cp-5f, -0x1.6c0796p-10f,
                                                 0x1.990142p-16f};

// sin(r) / r
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> SineFactorOf(D d, hn::Vec<D> r) {
  const auto square = hn::Mul(r, r);
  return hn::MulAdd(PolynomialOf(d, square, kFloatSineTerms), square, hn::Set(d, 1));
}

template <FullFloatTag D>
HWY_INLINE hn::Vec<D> SinOf(D d, hn::Vec<D> x) {
  const ReducedAngle<D> angle = ReducedAngleOf<kWholes>(d, x);
  const auto sign = hn::BitCast(d, hn::ShiftLeft<31>(angle.count));
  return hn::Mul(angle.rest, hn::Xor(SineFactorOf(d, angle.rest), sign));
}

template <FullFloatTag D>
HWY_INLINE hn::Vec<D> CosOf(D d, hn::Vec<D> x) {
  const ReducedAngle<D> angle = ReducedAngleOf<kOddHalves>(d, hn::Abs(x));
  const auto sign = hn::BitCast(d, hn::ShiftLeft<31>(angle.count));
  return hn::Mul(hn::Neg(angle.rest), hn::Xor(SineFactorOf(d, angle.rest), sign));
}

template <FullFloatTag D>
HWY_INLINE hn::Vec<D> TanOf(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const ReducedAngle<D> angle = ReducedAngleOf<kHalves>(d, x);
  const auto square = hn::Mul(angle.rest, angle.rest);
  const auto sine = hn::Mul(angle.rest, SineFactorOf(d, angle.rest));
  const auto cosine = hn::MulAdd(PolynomialOf(d, square, kFloatCosineTerms), square, hn::Set(d, 1));
  // tan(pi/2 + r) = -cos(r) / sin(r).
  const auto is_odd = hn::RebindMask(d, hn::Ne(hn::And(angle.count, hn::Set(du, 1)), hn::Zero(du)));
  const auto dividend = hn::IfThenElse(is_odd, cosine, sine);
  return hn::Div(dividend, hn::IfThenElse(is_odd, hn::Neg(sine), cosine));
}

// ------------------------------------------------------------------ ERF

// erf(x) / x in powers of u = 2/9 x^2 - 1, for |x| up to 3: error 2^-25.6.
inline constexpr std::array kFloatErrorFunctionTerms = {
    0x1.e16a3cp-2f,  -0x1.d49428p-3f,  0x1.428db4p-3f,  -0x1.c2f5a4p-4f, 0x1.29195cp-4f,
    -0x1.671b94p-5f, 0x1.8ba1dcp-6f,   -0x1.8f7be0p-7f, 0x1.6af85ap-8f,  -0x1.1ad9dap-9f,
    0x1.c6dc06p-11f, -0x1.d2cc06p-12f, 0x1.1e1382p-13f};

// From 3 on FLOAT16 has nothing between it and 1.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> ErfOf(D d, hn::Vec<D> x) {
  const auto limited = AtMost(d, AtLeast(d, x, -3), 3);
  const auto u = hn::MulSub(hn::Mul(limited, limited), hn::Set(d, 2.0f / 9), hn::Set(d, 1));
  return hn::Mul(limited, PolynomialOf(d, u, kFloatErrorFunctionTerms));
}

// ------------------------------------------------------------------ GELU

// P(-a) e^(a^2 / 2) in powers of w = (a - 3) / (a + 3), for a of 0 to 6, where P is the
// distribution function of the normal distribution: error 2^-25.3.
inline constexpr std::array kFloatNormalTailTerms = {
    0x1.f1b89cp-4f, -0x1.a6b664p-3f,  0x1.f8ba7cp-4f,   -0x1.7a9870p-5f, 0x1.9233d0p-8f,
    0x1.80262ep-9f, -0x1.031872p-10f, -0x1.d9fe8cp-12f, -0x1.bbdac4p-16f};

// x P(x). Below -6 it is nearly zero.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> GeluOf(D d, hn::Vec<D> x) {
  const auto three = hn::Set(d, 3);
  const auto limited = AtLeast(d, x, -6);
  const auto a = hn::Min(hn::Abs(limited), hn::Set(d, 6));
  const auto w = hn::Div(hn::Sub(a, three), hn::Add(a, three));
  // The square of 11 digits is exact.
  const auto half_square = hn::Mul(hn::Mul(a, a), hn::Set(d, 0.5f));
  const auto tail =
      hn::Mul(PolynomialOf(d, w, kFloatNormalTailTerms), ExpOf(d, hn::Neg(half_square)));
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  return hn::Mul(limited, hn::IfThenElse(is_negative, tail, hn::Sub(hn::Set(d, 1), tail)));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SHORT_FUNCTIONS_INL_H_
