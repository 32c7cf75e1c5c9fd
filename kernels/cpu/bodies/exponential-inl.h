// e^x and what is made of it, in FLOAT64 lanes, and in FLOAT32 lanes for results of FLOAT16.
// Included once per target.
//
// x = ln s + r, where s is a power of two, or of the eighth root of two, and r is small: then
// e^x = s e^r. Errors are relative ones, also near the zeros of a function; those measured are the
// largest of some 7 million compared with MPFR, on targets with and without fused operations.

#if defined(OPSERVE_KERNELS_CPU_BODIES_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_EXPONENTIAL_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_EXPONENTIAL_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_EXPONENTIAL_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Limits that NaNs pass

// The lesser of x and a number. Of two operands, one of them NaN, x86 returns the second; Highway
// without vectors the other one.
template <FloatTag D>
HWY_INLINE hn::Vec<D> AtMost(D d, hn::Vec<D> x, hn::TFromD<D> most) {
  const auto limit = hn::Set(d, most);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}

template <FloatTag D>
HWY_INLINE hn::Vec<D> AtLeast(D d, hn::Vec<D> x, hn::TFromD<D> least) {
  const auto limit = hn::Set(d, least);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(limit, x);
#else
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#endif
}

// ------------------------------------------------------------------ The arguments in parts

inline constexpr double kLog2OfE = 0x1.71547652b82fep+0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// Of the upper part, multiples of up to 2^16 are exact.
inline constexpr double kLn2Upper = 0x1.62e42fefap-1;
inline constexpr double kLn2Lower = 0x1.cf79abc9e3b3ap-40;

// x = ln(scale) + rest.
template <class D>
struct ExponentParts {
  hn::Vec<D> scale;
  hn::Vec<D> rest;
};

// x - k ln 2.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> RestOfExponent(D d, hn::Vec<D> x, hn::Vec<D> k) {
  const auto rest = hn::NegMulAdd(k, hn::Set(d, kLn2Upper), x);
  return hn::NegMulAdd(k, hn::Set(d, kLn2Lower), rest);
}

// The scale is a power of two, |rest| at most ln(2) / 2 and a trifle. -709 <= x <= 710, or NaN; at
// these ends the scale is 0 and infinite.
template <DoubleTag D>
HWY_INLINE ExponentParts<D> PartsByTwo(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  // Numbers from 2^52 on are integers: the sum rounds, and its low bits are the biased exponent.
  const auto shifter = hn::Set(d, 0x1.8p52 + 1023);
  const auto shifted = hn::MulAdd(x, hn::Set(d, kLog2OfE), shifter);
  const auto scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
  return {scale, RestOfExponent(d, x, hn::Sub(shifted, shifter))};
}

// Whether there are instructions for tables of eight and to scale.
template <DoubleTag D>
inline constexpr bool kSplitsByEighthRoot = OPSERVE_HAVE_BIT_MASKS != 0 && MaxLanes(D()) == 8;

#if OPSERVE_HAVE_BIT_MASKS
// 2^(i/8)
alignas(64) inline constexpr double kEighthRootPowers[8] = {
    0x1.0000000000000p+0, 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.4bfdad5362a27p+0,
    0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0, 0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0};

// The scale is a power of 2^(1/8), |rest| at most ln(2) / 16 and a trifle; the scale is 0 below
// -708 and infinite for large x, where the rest no longer means anything. One fused step: the rest
// is off by less than |x| 2^-54.7, that is by 2^-47.9 where e^x is 2^160.
template <DoubleTag D>
HWY_INLINE ExponentParts<D> PartsByEighthRoot(D d, hn::Vec<D> x) {
  // Numbers from 2^49 on are eighths: the sum rounds, and its low bits are the index.
  const auto shifter = hn::Set(d, 0x1.8p49);
  const auto shifted = hn::MulAdd(x, hn::Set(d, kLog2OfE), shifter);
  const auto k = hn::Sub(shifted, shifter);
  const __m512d root =
      _mm512_permutexvar_pd(_mm512_castpd_si512(shifted.raw), _mm512_load_pd(kEighthRootPowers));
  // Multiplies by two to the power of k rounded down. Where that gives a denormal number, or is
  // below all of them, Intel's processors take a hundred times as long, so these lanes are left
  // out.
  const auto is_normal = _mm512_cmp_pd_mask(x.raw, hn::Set(d, -708).raw, _CMP_NLT_UQ);
  return {hn::Vec<D>{_mm512_maskz_scalef_pd(is_normal, root, k.raw)},
          hn::NegMulAdd(k, hn::Set(d, kLn2), x)};
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// ------------------------------------------------------------------ e^x

// (e^r - 1) / r. With scales by eighth roots, |r| < 0.0434: error 2^-49.2 / |r|, enough for e^r.
inline constexpr std::array kGrowthOfSmall = {0x1.0000000000000p+0, 0x1.ffffffffff857p-2,
                                              0x1.55555548f81d6p-3, 0x1.5555556b022acp-5,
                                              0x1.1115b7a3b0947p-7, 0x1.6c15fd0504983p-10};
// The same with error 2^-52.9, for e^r - 1.
inline constexpr std::array kGrowthOfSmallFromOne = {
    0x1.0000000000000p+0, 0x1.00000000000a1p-1,  0x1.5555555555412p-3, 0x1.5555554ad62bep-5,
    0x1.11111116a03ffp-7, 0x1.6c1c387599ce4p-10, 0x1.a01b142ffd670p-13};
// With scales by powers of two, |r| < 0.3467: error 2^-49.3.
inline constexpr std::array kGrowth = {
    0x1.0000000000000p+0,  0x1.fffffffffffbfp-2,  0x1.555555555226ep-3,  0x1.555555556485ep-5,
    0x1.11111121333fbp-7,  0x1.6c16c13654e63p-10, 0x1.a0199c03f7ac9p-13, 0x1.a01a76a2edee8p-16,
    0x1.72da3c5696934p-19, 0x1.27dea35c7d033p-22};

// e^x for any x, NaN included: 0 from about -709 (-708 with AVX-512) down, infinite from about 709
// on. Error 2^-47 (measured: 2^-47.3 with AVX-512, else 2^-50.2) where the result is from 2^-160 to
// 2^160, twice that where it is from 2^-300 to 2^300.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> ExpOf(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1);
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (kSplitsByEighthRoot<D>) {
    const auto parts = PartsByEighthRoot(d, x);
    // Any small number will do beside a scale of 0, infinity or NaN: the lesser magnitude, with the
    // sign of the rest, or the number where there is none.
    const hn::Vec<D> rest{_mm512_range_pd(parts.rest.raw, hn::Set(d, 0.0625).raw, 2)};
    const auto growth = HornerOf<0, 1>(d, rest, kGrowthOfSmall);
    return hn::Mul(parts.scale, hn::MulAdd(rest, growth, one));
  }
#endif
  const auto parts = PartsByTwo(d, AtMost(d, AtLeast(d, x, -709), 710));
  const auto growth = PolynomialOf(d, parts.rest, kGrowth);
  return hn::Mul(parts.scale, hn::MulAdd(parts.rest, growth, one));
}

// ------------------------------------------------------------------ e^x - 1

// e^x - 1 for x from -708 to 709, or NaN, but for the sign of zero.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> LimitedExpm1(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1);
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (kSplitsByEighthRoot<D>) {
    const auto parts = PartsByEighthRoot(d, x);
    const auto growth = PolynomialOf(d, parts.rest, kGrowthOfSmallFromOne);
    return hn::MulAdd(parts.scale, hn::Mul(parts.rest, growth), hn::Sub(parts.scale, one));
  }
#endif
  const auto parts = PartsByTwo(d, x);
  const auto growth = PolynomialOf(d, parts.rest, kGrowth);
  return hn::MulAdd(parts.scale, hn::Mul(parts.rest, growth), hn::Sub(parts.scale, one));
}

// For any x, NaN included; e^709 - 1 from there on. Keeps the sign of zero. Error 2^-47 (measured:
// 2^-47.8 with AVX-512, else 2^-48.6) where the result is at most 2^160.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> Expm1Of(D d, hn::Vec<D> x) {
  return hn::CopySign(LimitedExpm1(d, AtMost(d, AtLeast(d, x, -708), 709)), x);
}

// ------------------------------------------------------------------ FLOAT32 lanes

// Errors as kernels/cpu/bodies/short_functions-inl.h tells.

// (e^r - 1) / r for |r| < 0.3468: error 2^-26.5.
inline constexpr std::array kFloatGrowth = {0x1.000000p+0f, 0x1.fffffep-2f, 0x1.55547ep-3f,
                                            0x1.555652p-5f, 0x1.123d40p-7f, 0x1.6c162cp-10f};

// x = ln(scale) + rest, for |x| <= 40 or NaN: the scale is a power of two.
template <FullFloatTag D>
HWY_INLINE ExponentParts<D> PartsByTwo(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  // As for FLOAT64 lanes: the low bits of the sum are the biased exponent.
  const auto shifter = hn::Set(d, 0x1.8p23f + 127);
  const auto shifted = hn::MulAdd(x, InLanes(d, kLog2OfE), shifter);
  const auto scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  const auto k = hn::Sub(shifted, shifter);
  // ln 2 in two parts, of which multiples of the upper one are exact.
  const auto rest = hn::NegMulAdd(k, hn::Set(d, 0x1.62e4p-1f), x);
  return {scale, hn::NegMulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), rest)};
}

// e^40 from there on, and its inverse from -40 down: beyond FLOAT16 also next to factors of it.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> ExpOf(D d, hn::Vec<D> x) {
  const auto parts = PartsByTwo(d, AtMost(d, AtLeast(d, x, -40), 40));
  const auto growth = PolynomialOf(d, parts.rest, kFloatGrowth);
  return hn::Mul(parts.scale, hn::MulAdd(parts.rest, growth, hn::Set(d, 1)));
}

// e^x - 1 for |x| <= 20 or NaN, but for the sign of zero.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> LimitedExpm1(D d, hn::Vec<D> x) {
  const auto parts = PartsByTwo(d, x);
  const auto growth = hn::Mul(parts.rest, PolynomialOf(d, parts.rest, kFloatGrowth));
  return hn::MulAdd(parts.scale, growth, hn::Sub(parts.scale, hn::Set(d, 1)));
}

// Of any x up to 20. Keeps the sign of zero.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> Expm1Of(D d, hn::Vec<D> x) {
  return hn::CopySign(LimitedExpm1(d, AtMost(d, AtLeast(d, x, -20), 20)), x);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_EXPONENTIAL_INL_H_
