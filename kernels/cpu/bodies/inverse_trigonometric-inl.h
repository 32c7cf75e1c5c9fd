// Arc functions in FLOAT64 lanes, of exactly widened FLOAT32 numbers, and those of one number in
// FLOAT32 lanes, too, for results of FLOAT16. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_INVERSE_TRIGONOMETRIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_INVERSE_TRIGONOMETRIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_INVERSE_TRIGONOMETRIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_INVERSE_TRIGONOMETRIC_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// The relative errors in FLOAT64 lanes were measured against exact values of some 6 million
// numbers, or 4 million pairs, on every target: up to 2^-51.5 of arc tangents, 2^-49.7 of arc sines
// and 2^-50.6 of arc cosines.

inline constexpr double kPi = 0x1.921fb54442d18p+1;

// ------------------------------------------------------------------ Arc tangents

// (atan(z) / z - 1) / z^2 in powers of z^2, for |z| up to tan(pi/8): atan(z) within 2^-54 of it.
inline constexpr std::array<double, 10> kArcTangentTerms = {
    -0x1.5555555555318p-2, 0x1.9999999949775p-3, -0x1.249249057e196p-3, 0x1.c71c65cff4656p-4,
    -0x1.745bc33976940p-4, 0x1.3afc35ead3caep-4, -0x1.100533ea3c483p-4, 0x1.d255309bace88p-5,
    -0x1.6518d4016c3eep-5, 0x1.5c522b4ecd68dp-6};
// The same for FLOAT32 lanes: within 2^-25.5.
inline constexpr std::array kFloatArcTangentTerms = {-0x1.555456p-2f, 0x1.99258ep-3f,
                                                     -0x1.1c3eb6p-3f, 0x1.4a0cdcp-4f};

// An angle is start + atan(dividend / divisor), where the quotient is at most about tan(pi/8).
template <class D>
struct ArcTangentParts {
  hn::Vec<D> start;
  hn::Vec<D> dividend;
  hn::Vec<D> divisor;
};

// Parts of atan(y / x) for y, x >= 0 with half of the lanes' digits, so that y - x is exact where
// it is used. Angles of two zeros or two infinities come out as NaN.
template <FloatTag D>
HWY_INLINE ArcTangentParts<D> ArcTangentPartsOf(D d, hn::Vec<D> y, hn::Vec<D> x) {
  const auto is_low = hn::Lt(y, hn::Mul(x, InLanes(d, 0x1.a827999fcef32p-2)));   // tan(pi/8)
  const auto is_high = hn::Gt(y, hn::Mul(x, InLanes(d, 0x1.3504f333f9de6p+1)));  // tan(3pi/8)
  auto start = hn::IfThenElse(is_high, InLanes(d, kPi / 2), InLanes(d, kPi / 4));
  auto dividend = hn::IfThenElse(is_high, hn::Neg(x), hn::Sub(y, x));
  auto divisor = hn::IfThenElse(is_high, y, hn::Add(y, x));
  start = hn::IfThenZeroElse(is_low, start);
  dividend = hn::IfThenElse(is_low, y, dividend);
  divisor = hn::IfThenElse(is_low, x, divisor);
  return {start, dividend, divisor};
}

// atan(z) for |z| up to about tan(pi/8).
template <FloatTag D>
HWY_INLINE hn::Vec<D> SmallArcTangent(D d, hn::Vec<D> z) {
  const auto& terms = TermsFor(d, kArcTangentTerms, kFloatArcTangentTerms);
  const auto square = hn::Mul(z, z);
  return hn::Mul(z, hn::MulAdd(PolynomialOf(d, square, terms), square, hn::Set(d, 1)));
}

// atan(x) within 2^-51 of it in FLOAT64 lanes; a zero keeps its sign, infinities give +-pi/2.
template <FloatTag D>
HWY_INLINE hn::Vec<D> AtanOf(D d, hn::Vec<D> x) {
  const ArcTangentParts<D> parts = ArcTangentPartsOf(d, hn::Abs(x), hn::Set(d, 1));
  const auto angle = SmallArcTangent(d, hn::Div(parts.dividend, parts.divisor));
  return hn::CopySign(hn::Add(parts.start, angle), x);
}

// The angle of the point (x, y), C's atan2(y, x), within 2^-51 of it: -pi to pi, with the sign of
// y; zeros and infinities as limits that C's Annex F gives.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> AtanYxOf(D d, hn::Vec<D> y, hn::Vec<D> x) {
  const auto y_magnitude = hn::Abs(y);
  const auto x_magnitude = hn::Abs(x);
  ArcTangentParts<D> parts = ArcTangentPartsOf(d, y_magnitude, x_magnitude);
  // Also two infinities lie on the diagonal; two zeros lie on the axis.
  const auto is_diagonal = hn::Eq(y_magnitude, x_magnitude);
  const auto one = hn::Set(d, 1);
  parts.dividend = hn::IfThenZeroElse(is_diagonal, parts.dividend);
  parts.divisor = hn::IfThenElse(is_diagonal, one, parts.divisor);
  parts.start = hn::IfThenZeroElse(hn::Eq(y_magnitude, hn::Zero(d)), parts.start);

  const auto angle = SmallArcTangent(d, hn::Div(parts.dividend, parts.divisor));
  // Left of the axis, -0 too: pi less the angle.
  const auto sign = hn::CopySign(one, x);
  const auto is_left = hn::Lt(sign, hn::Zero(d));
  const auto start = hn::IfThenElse(is_left, hn::Sub(hn::Set(d, kPi), parts.start), parts.start);
  return hn::CopySign(hn::MulAdd(angle, sign, start), y);
}

// ------------------------------------------------------------------ Arc sine, arc cosine

// (asin(s) / s - 1) / s^2 in powers of s^2, for |s| up to 1/2: asin(s) within 2^-51.9 of it.
inline constexpr std::array<double, 11> kArcSineTerms = {
    0x1.5555555556cffp-3, 0x1.3333333091726p-4,  0x1.6db6dd0dde9c4p-5, 0x1.f1c69c91db10ep-6,
    0x1.6e97027a51cffp-6, 0x1.1baccf3889cc9p-6,  0x1.d54ecfd8fcaecp-7, 0x1.336cabb709888p-7,
    0x1.2b0838da34117p-6, -0x1.7f67e6d9f4520p-7, 0x1.0234835dce253p-5};
// The same for FLOAT32 lanes: within 2^-27.5.
inline constexpr std::array kFloatArcSineTerms = {0x1.5555cap-3f, 0x1.33014ep-4f, 0x1.748c62p-5f,
                                                  0x1.8ba26cp-6f, 0x1.59dab6p-5f};

// asin(|x|) = angle for |x| up to 1/2; beyond, angle = asin(sqrt((1 - |x|) / 2)), of which twice is
// acos(|x|), so that nothing is lost next to 1. NaN beyond 1: a square root of less than zero.
template <class D>
struct ArcSine {
  hn::Mask<D> is_beyond_half;
  hn::Vec<D> angle;
};

template <FloatTag D>
HWY_INLINE ArcSine<D> ArcSineOf(D d, hn::Vec<D> x) {
  const auto& terms = TermsFor(d, kArcSineTerms, kFloatArcSineTerms);
  const auto half = InLanes(d, 0.5);
  const auto magnitude = hn::Abs(x);
  const auto is_beyond_half = hn::Gt(magnitude, half);
  // Exact beyond a half.
  const auto half_rest = hn::Sub(half, hn::Mul(magnitude, half));
  const auto square = hn::IfThenElse(is_beyond_half, half_rest, hn::Mul(x, x));
  const auto s = hn::IfThenElse(is_beyond_half, hn::Sqrt(half_rest), magnitude);
  const auto factor = hn::MulAdd(PolynomialOf(d, square, terms), square, hn::Set(d, 1));
  return {is_beyond_half, hn::Mul(s, factor)};
}

// asin(x) within 2^-49 of it in FLOAT64 lanes; a zero keeps its sign. NaN beyond 1.
template <FloatTag D>
HWY_INLINE hn::Vec<D> AsinOf(D d, hn::Vec<D> x) {
  const ArcSine<D> part = ArcSineOf(d, x);
  const auto beyond_half = hn::Sub(InLanes(d, kPi / 2), hn::Add(part.angle, part.angle));
  return hn::CopySign(hn::IfThenElse(part.is_beyond_half, beyond_half, part.angle), x);
}

// acos(x) within 2^-50 of it in FLOAT64 lanes; +0 of 1. NaN beyond 1.
template <FloatTag D>
HWY_INLINE hn::Vec<D> AcosOf(D d, hn::Vec<D> x) {
  const ArcSine<D> part = ArcSineOf(d, x);
  const auto signed_angle = hn::Or(part.angle, hn::And(x, hn::SignBit(d)));
  const auto within_half = hn::Sub(InLanes(d, kPi / 2), signed_angle);
  // pi less twice the angle where x is negative.
  const auto start = hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), InLanes(d, kPi));
  const auto beyond_half = hn::Add(start, hn::Add(signed_angle, signed_angle));
  return hn::IfThenElse(part.is_beyond_half, beyond_half, within_half);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_INVERSE_TRIGONOMETRIC_INL_H_
