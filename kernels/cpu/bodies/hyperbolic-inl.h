// Hyperbolic functions and the logistic one, in FLOAT64 lanes, and in FLOAT32 lanes for results of
// FLOAT16. Included once per target. Errors are relative ones, also near zero; those that are told
// are of FLOAT64 lanes.

#if defined(OPSERVE_KERNELS_CPU_BODIES_HYPERBOLIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_HYPERBOLIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_HYPERBOLIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_HYPERBOLIC_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ SINH, COSH

// sinh(r) / 2r and cosh(r) / 2 as polynomials of r^2, |r| < 0.3467: errors 2^-49.3 and 2^-56.7.
inline constexpr std::array kHalfSinh = {0x1.0000000000000p-1, 0x1.5555555552249p-4,
                                         0x1.111111213a5a3p-8, 0x1.a0199bea0e345p-14,
                                         0x1.72da58fdfd683p-20};
inline constexpr std::array kHalfCosh = {0x1.0000000000000p-1,  0x1.000000000000bp-2,
                                         0x1.55555555500bbp-6,  0x1.6c16c185874aap-11,
                                         0x1.a01996ea5b846p-17, 0x1.28affae20aae6p-23};
// The same for FLOAT32 lanes: errors 2^-26.4 and 2^-34.5.
inline constexpr std::array kFloatHalfSinh = {0x1.000000p-1f, 0x1.55547cp-4f, 0x1.123df0p-8f};
inline constexpr std::array kFloatHalfCosh = {0x1.000000p-1f, 0x1.000000p-2f, 0x1.555464p-6f,
                                              0x1.6da7e2p-11f};

// |x| = ln s + r: sinh |x| and cosh |x| are sums of s +- 1/s times half the functions of r.
template <class D>
struct HyperbolicParts {
  hn::Vec<D> scale;
  hn::Vec<D> inverse;    // of the scale
  hn::Vec<D> half_sinh;  // of the rest
  hn::Vec<D> half_cosh;
};

template <FloatTag D>
HWY_INLINE HyperbolicParts<D> PartsOfHyperbolic(D d, hn::Vec<D> x) {
  // The last power of two whose inverse has an exponent, be it that of zero, is 2^1023. Results of
  // FLOAT16 end long before 20.
  const auto parts = PartsByTwo(d, AtMost(d, hn::Abs(x), DoubleTag<D> ? 709 : 20));
  // Of a power of two and its inverse, the exponents add up to those of 1 and 1.
  const BitsTag<D> du;
  const auto one = hn::BitCast(du, hn::Set(d, 1));
  const auto inverse = hn::Sub(hn::Add(one, one), hn::BitCast(du, parts.scale));
  const auto square = hn::Mul(parts.rest, parts.rest);
  const auto by_rest = HornerOf<0, 1>(d, square, TermsFor(d, kHalfSinh, kFloatHalfSinh));
  const auto half_cosh = HornerOf<0, 1>(d, square, TermsFor(d, kHalfCosh, kFloatHalfCosh));
  return {parts.scale, hn::BitCast(d, inverse), hn::Mul(parts.rest, by_rest), half_cosh};
}

// For any x, NaN included; that of +-709, or +-20 in FLOAT32 lanes, beyond. Keeps the sign of zero.
// Error 2^-48 (measured: 2^-48.6).
template <FloatTag D>
HWY_INLINE hn::Vec<D> SinhOf(D d, hn::Vec<D> x) {
  const auto parts = PartsOfHyperbolic(d, x);
  const auto by_cosh = hn::Mul(parts.half_cosh, hn::Sub(parts.scale, parts.inverse));
  const auto sum = hn::Add(parts.scale, parts.inverse);
  return hn::CopySign(hn::MulAdd(parts.half_sinh, sum, by_cosh), x);
}

// For any x, NaN included; limited likewise. Error 2^-49 (measured: 2^-49.6).
template <FloatTag D>
HWY_INLINE hn::Vec<D> CoshOf(D d, hn::Vec<D> x) {
  const auto parts = PartsOfHyperbolic(d, x);
  const auto by_sinh = hn::Mul(parts.half_sinh, hn::Sub(parts.scale, parts.inverse));
  const auto sum = hn::Add(parts.scale, parts.inverse);
  return hn::MulAdd(parts.half_cosh, sum, by_sinh);
}

// ------------------------------------------------------------------ TANH

// For any x, NaN included. Keeps the sign of zero. (e^2x - 1) / (e^2x + 1), whose distance from 1
// is beyond all digits long before the limit. Error 2^-48 (measured: 2^-48.8).
template <FloatTag D>
HWY_INLINE hn::Vec<D> TanhOf(D d, hn::Vec<D> x) {
  // LimitedExpm1 of FLOAT32 lanes goes to 20.
  const auto magnitude = AtMost(d, hn::Abs(x), DoubleTag<D> ? 64 : 10);
  const auto grown = LimitedExpm1(d, hn::Add(magnitude, magnitude));
  return hn::CopySign(hn::Div(grown, hn::Add(grown, hn::Set(d, 2))), x);
}

// ------------------------------------------------------------------ SIGMOID

// 1 / (1 + e^-x) for any x, NaN included. In FLOAT64 lanes 0 from about -709 down. Error 2^-47
// (measured: 2^-47.3 with AVX-512, else 2^-50) where the result is at least 2^-160.
template <FloatTag D>
HWY_INLINE hn::Vec<D> SigmoidOf(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1);
  return hn::Div(one, hn::Add(one, ExpOf(d, hn::Neg(x))));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_HYPERBOLIC_INL_H_
