// Logarithms, in FLOAT64 lanes, and in FLOAT32 lanes for results of FLOAT16. Included once per
// target.
//
// x = e^w (1 + r), with w a multiple of ln 2, or near one, and r small: then ln x = w + ln(1 + r).
// Near 1, w is zero. Errors are relative ones, also near the zeros of a function; those that are
// told are of FLOAT64 lanes.

#if defined(OPSERVE_KERNELS_CPU_BODIES_LOGARITHM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_LOGARITHM_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_LOGARITHM_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_LOGARITHM_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ The argument in parts

// ln x = whole + ln(1 + rest). From 1 - 1/32 to 1 + 1/32, whole is +0 and rest is x - 1.
template <class D>
struct LogarithmParts {
  hn::Vec<D> whole;
  hn::Vec<D> rest;
};

// Whether there are instructions for tables of sixteen and to take numbers apart.
template <FloatTag D>
inline constexpr bool kLogarithmByTable = OPSERVE_HAVE_BIT_MASKS != 0 &&
                                          DoubleTag<D>&& MaxLanes(D()) == 8;

#if OPSERVE_HAVE_BIT_MASKS
// By the upper four digits of a mantissa, from 1 to 1.5, then from 0.75 to 1: the reciprocal of
// their middle in ten digits, but of the two around 1, and the negative logarithm of that.
alignas(64) inline constexpr double kReciprocals[16] = {
    1.0,         0.9140625,    0.865234375,  0.8203125,    0.7802734375, 0.744140625,
    0.7109375,   0.6806640625, 1.3056640625, 1.2548828125, 1.2080078125, 1.1640625,
    1.123046875, 1.0849609375, 1.048828125,  1.0};
alignas(64) inline constexpr double kLogarithms[16] = {
    0x0.0000000000000p+0,  0x1.700d30aeac0e1p-4,  0x1.28753bc11aba5p-3,  0x1.95a5adcf7017fp-3,
    0x1.fc218be620a5ep-3,  0x1.2e9e2bce12286p-2,  0x1.5d5bddf595f30p-2,  0x1.89eb3af432874p-2,
    -0x1.111ce4003ee4dp-2, -0x1.d0fb7f2255e51p-3, -0x1.83040c91bcf2ep-3, -0x1.371fc201e8f74p-3,
    -0x1.db5270187d927p-4, -0x1.4e01108a35ae6p-4, -0x1.868a83083f6cfp-5, 0x0.0000000000000p+0};

// Rests are from -1/32 to 1/16. Zero has the exponent minus infinity, infinity its own; negative
// numbers have NaN for a mantissa.
template <DoubleTag D>
HWY_INLINE LogarithmParts<D> PartsByTable(D d, hn::Vec<D> x) {
  const hn::Vec<D> mantissa{_mm512_getmant_pd(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
  const auto exponent =
      hn::Sub(hn::Vec<D>{_mm512_getexp_pd(x.raw)}, hn::Vec<D>{_mm512_getexp_pd(mantissa.raw)});
  // The look-up sees but four bits of the index.
  const __m512i index = _mm512_srli_epi64(_mm512_castpd_si512(mantissa.raw), 48);
  const hn::Vec<D> reciprocal{_mm512_permutex2var_pd(_mm512_load_pd(kReciprocals), index,
                                                     _mm512_load_pd(kReciprocals + 8))};
  const hn::Vec<D> logarithm{
      _mm512_permutex2var_pd(_mm512_load_pd(kLogarithms), index, _mm512_load_pd(kLogarithms + 8))};
  return {hn::MulAdd(exponent, hn::Set(d, kLn2), logarithm),
          hn::MulSub(mantissa, reciprocal, hn::Set(d, 1))};
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// The root of a half, and less than the next number above it with as many zeros at its end.
inline constexpr uint64_t kRootOfHalfBits = 0x3FE6A09E00000000;
inline constexpr uint64_t kOneBits = 0x3FF0000000000000;

// x = 2^exponent * mantissa.
template <class D>
struct BinaryParts {
  hn::Vec<D> exponent;
  hn::Vec<D> mantissa;
};

// Positive normal numbers: mantissas are from sqrt(1/2) to sqrt(2).
template <DoubleTag D>
HWY_INLINE BinaryParts<D> BinaryPartsOf(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, kOneBits - kRootOfHalfBits));
  const auto fraction = hn::And(bits, hn::Set(du, (uint64_t{1} << 52) - 1));
  const auto mantissa = hn::BitCast(d, hn::Add(fraction, hn::Set(du, kRootOfHalfBits)));
  // In the low bits of 2^52, whose unit is one; there is no conversion on all targets.
  const auto shifter = hn::BitCast(du, hn::Set(d, 0x1p52));
  const auto biased = hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), shifter));
  return {hn::Sub(biased, hn::Set(d, 0x1p52 + 1023)), mantissa};
}

template <FullFloatTag D>
HWY_INLINE BinaryParts<D> BinaryPartsOf(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const hn::RebindToSigned<D> di;
  // The root of a half, and less than the next number above it with as many zeros at its end.
  const auto root = hn::Set(du, 0x3F350000u);
  const auto one = hn::Set(du, 0x3F800000u);
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Sub(one, root));
  const auto fraction = hn::And(bits, hn::Set(du, 0x007FFFFFu));
  const auto exponent = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<23>(bits)));
  return {hn::Sub(exponent, hn::Set(d, 127)), hn::BitCast(d, hn::Add(fraction, root))};
}

template <FloatTag D>
HWY_INLINE LogarithmParts<D> PartsByExponent(D d, hn::Vec<D> x) {
  const BinaryParts<D> parts = BinaryPartsOf(d, x);
  return {hn::Mul(parts.exponent, InLanes(d, kLn2)), hn::Sub(parts.mantissa, hn::Set(d, 1))};
}

template <FloatTag D>
HWY_INLINE LogarithmParts<D> PartsOfLogarithm(D d, hn::Vec<D> x) {
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (kLogarithmByTable<D>) return PartsByTable(d, x);
#endif
  return PartsByExponent(d, x);
}

// ------------------------------------------------------------------ The sum of the parts

// ln(1 + r) / r for -1/32 <= r <= 1/16: error 2^-51.2.
inline constexpr std::array kLog1pOfSmall = {
    0x1.0000000000000p+0,  -0x1.000000000028dp-1, 0x1.55555555599abp-2,
    -0x1.ffffffeec4074p-3, 0x1.9999986dd3750p-3,  -0x1.5555c583caeb6p-3,
    0x1.249cddeb3e39ep-3,  -0x1.feb39c527a503p-4, 0x1.932e1ecedbbe8p-4};
// ln((1 + s) / (1 - s)) / s as a polynomial of s^2, |s| < 0.1716: error 2^-52.2.
inline constexpr std::array kLogOfQuotient = {
    0x1.0000000000000p+1, 0x1.555555555396fp-1, 0x1.999999a2918a7p-2, 0x1.24924178a5e31p-2,
    0x1.c72277b44db42p-3, 0x1.732c2da3982fep-3, 0x1.58774e1ad8126p-3};

// ln(1 + r) / r for r from sqrt(1/2) - 1 to sqrt(2) - 1: error 2^-25.1.
inline constexpr std::array kFloatLog1p = {0x1.000000p+0f,  -0x1.fffff8p-2f, 0x1.55579cp-2f,
                                           -0x1.0005a0p-2f, 0x1.98b458p-3f,  -0x1.53278ap-3f,
                                           0x1.324d24p-3f,  -0x1.26993ep-3f, 0x1.65bf36p-4f};

template <FloatTag D>
HWY_INLINE hn::Vec<D> LogarithmOfParts(D d, const LogarithmParts<D>& parts) {
  const auto rest = parts.rest;
  if constexpr (!DoubleTag<D>) {
    return hn::MulAdd(rest, PolynomialOf(d, rest, kFloatLog1p), parts.whole);
  } else if constexpr (kLogarithmByTable<D>) {
    return hn::MulAdd(rest, PolynomialOf(d, rest, kLog1pOfSmall), parts.whole);
  } else {
    const auto s = hn::Div(rest, hn::Add(rest, hn::Set(d, 2)));
    return hn::MulAdd(s, PolynomialOf(d, hn::Mul(s, s), kLogOfQuotient), parts.whole);
  }
}

// y, the logarithm of x, also where x is no positive finite number.
template <FloatTag D>
HWY_INLINE hn::Vec<D> WithSpecialLogarithms(D d, hn::Vec<D> x, hn::Vec<D> y) {
  // Where instructions take numbers apart, the parts of those are such that it is already.
  if constexpr (kLogarithmByTable<D>) return y;
  const auto zero = hn::Zero(d);
  const auto is_usual = hn::And(hn::Gt(x, zero), hn::Lt(x, hn::Inf(d)));
  if (HWY_LIKELY(hn::AllTrue(d, is_usual))) return y;
  // Infinity and NaNs stay.
  const auto of_negative = hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), x);
  const auto special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), of_negative);
  return hn::IfThenElse(is_usual, y, special);
}

// ------------------------------------------------------------------ ln x, ln(1 + x)

// ln x for any x but subnormal numbers of the lanes, which no narrower one widens to: minus
// infinity for zeros, NaN for negative numbers, +0 for 1. Error 2^-50 (measured: 2^-50.3).
template <FloatTag D>
HWY_INLINE hn::Vec<D> LogOf(D d, hn::Vec<D> x) {
  return WithSpecialLogarithms(d, x, LogarithmOfParts(d, PartsOfLogarithm(d, x)));
}

// ln(1 + x) for any x, in FLOAT32 lanes from -1/4 on: minus infinity for -1, NaN below, +0 for
// zeros of both signs. Near zero the sum only tells that there is no whole part; elsewhere its
// rounding adds no more than 2^-48. Error 2^-47.5 (measured: 2^-47.9).
template <FloatTag D>
HWY_INLINE hn::Vec<D> Log1pOf(D d, hn::Vec<D> x) {
  constexpr double kSmall = DoubleTag<D> ? 1.0 / 32 : 0.375;
  const auto sum = hn::Add(x, hn::Set(d, 1));
  auto parts = PartsOfLogarithm(d, sum);
  const auto is_small = hn::Lt(hn::Abs(x), InLanes(d, kSmall));
  parts.rest = hn::IfThenElse(is_small, x, parts.rest);
  return WithSpecialLogarithms(d, sum, LogarithmOfParts(d, parts));
}

// ------------------------------------------------------------------ SOFTPLUS

// Of y below this, ln(1 + y) is y to more digits than FLOAT64 has, and powers of y may leave its
// range: processors take many times as long for numbers below the least normal one.
inline constexpr double kLeastWithPowers = 0x1p-60;

// ln(1 + e^x) for any x, NaN included: max(x, 0) + ln(1 + e^-|x|), 0 from about -709 down.
// Error 2^-47 (measured: 2^-47.4) where the result is at least 2^-160.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> SoftplusOf(D d, hn::Vec<D> x) {
  const auto y = ExpOf(d, hn::Or(x, hn::SignBit(d)));
  const auto log1p = Log1pOf(d, AtLeast(d, y, kLeastWithPowers));
  const auto is_least = hn::Lt(y, hn::Set(d, kLeastWithPowers));
  return hn::Add(hn::Max(x, hn::Zero(d)), hn::IfThenElse(is_least, y, log1p));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_LOGARITHM_INL_H_
