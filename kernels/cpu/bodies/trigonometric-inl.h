// Sine, cosine and tangent in FLOAT64 lanes, of exactly widened FLOAT32 numbers. Included once per
// target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_TRIGONOMETRIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_TRIGONOMETRIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_TRIGONOMETRIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_TRIGONOMETRIC_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/reduced_angle-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// (sin(r) / r - 1) / r^2 in powers of r^2, for |r| up to pi/2: sin(r) within 2^-52 of it.
inline constexpr std::array<double, 7> kSineTerms = {
    -0x1.55555555554a8p-3,  0x1.111111110a58ap-7,  -0x1.a01a019a668f8p-13, 0x1.71de3806f4fafp-19,
    -0x1.ae6355bf6662dp-26, 0x1.60e6c1cf82ad5p-33, -0x1.9f156a2822f35p-41};

// The same for |r| up to pi/4, within 2^-56.
inline constexpr std::array<double, 6> kShortSineTerms = {
    -0x1.5555555555548p-3, 0x1.111111110f7d8p-7,   -0x1.a01a019bfec23p-13,
    0x1.71de35686ce7ap-19, -0x1.ae5e5af47a16bp-26, 0x1.5d8fe8fad358ep-33};

// (cos(r) - 1) / r^2 in powers of r^2, for |r| up to pi/4: cos(r) within 2^-53 of it.
inline constexpr std::array<double, 6> kCosineTerms = {
    -0x1.fffffffffff96p-2, 0x1.555555554f0bbp-5,   -0x1.6c16c1640b92bp-10,
    0x1.a019f81d63ea0p-16, -0x1.27df4643cfcafp-22, 0x1.1b8ba78c15066p-29};

// The relative errors were measured against exact values of 5 million numbers, with those nearest
// to multiples of pi/2: up to 2^-50.6 of sines and cosines, 2^-50.3 of tangents.

// sin(x) within 2^-50 of it for every finite x; a zero keeps its sign. NaN for infinities.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> SinOf(D d, hn::Vec<D> x) {
  const ReducedAngle<D> angle = ReducedAngleOf<kWholes>(d, x);
  const auto square = hn::Mul(angle.rest, angle.rest);
  const auto factor = hn::MulAdd(PolynomialOf(d, square, kSineTerms), square, hn::Set(d, 1));
  // Odd multiples of pi turn the sign.
  const auto sign = hn::BitCast(d, hn::ShiftLeft<63>(angle.count));
  return hn::Mul(angle.rest, hn::Xor(factor, sign));
}

// cos(x) within 2^-50 of it for every finite x. NaN for infinities.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> CosOf(D d, hn::Vec<D> x) {
  // Half-way between two multiples the choice would depend on the sign.
  const ReducedAngle<D> angle = ReducedAngleOf<kOddHalves>(d, hn::Abs(x));
  const auto square = hn::Mul(angle.rest, angle.rest);
  const auto factor = hn::MulAdd(PolynomialOf(d, square, kSineTerms), square, hn::Set(d, 1));
  // cos(pi/2 + r) = -sin(r), and odd multiples of pi below the half turn the sign.
  const auto sign = hn::BitCast(d, hn::ShiftLeft<63>(angle.count));
  return hn::Mul(hn::Neg(angle.rest), hn::Xor(factor, sign));
}

// tan(x) within 2^-50 of it for every finite x; a zero keeps its sign. NaN for infinities.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> TanOf(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const ReducedAngle<D> angle = ReducedAngleOf<kHalves>(d, x);
  const auto one = hn::Set(d, 1);
  const auto square = hn::Mul(angle.rest, angle.rest);
  const auto factor = hn::MulAdd(PolynomialOf(d, square, kShortSineTerms), square, one);
  const auto sine = hn::Mul(angle.rest, factor);
  const auto cosine = hn::MulAdd(PolynomialOf(d, square, kCosineTerms), square, one);
  // tan(pi/2 + r) = -cos(r) / sin(r).
  const auto is_odd = hn::RebindMask(d, hn::Ne(hn::And(angle.count, hn::Set(du, 1)), hn::Zero(du)));
  const auto dividend = hn::IfThenElse(is_odd, cosine, sine);
  const auto divisor = hn::IfThenElse(is_odd, hn::Neg(sine), cosine);
  return hn::Div(dividend, divisor);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_TRIGONOMETRIC_INL_H_
