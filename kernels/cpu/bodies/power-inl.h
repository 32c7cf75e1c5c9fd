// Powers, rounded once. Included once per target.
//
// x^y = 2^(y log2 x). The logarithm and the product have some 60 digits: powers of up to 2^155
// leave enough of them behind the point.

#if defined(OPSERVE_KERNELS_CPU_BODIES_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_POWER_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_POWER_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_POWER_INL_H_
#endif

#include <array>
#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/decided-inl.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ log2 x with extra digits

// 2 / ln 2
inline constexpr double kTwoByLn2 = 0x1.71547652b82fep+1;
inline constexpr double kTwoByLn2Rest = 0x1.777d0ffda0d24p-55;
// (log2((1 + s) / (1 - s)) - s * 2 / ln 2) / s^3 as a polynomial of s^2, |s| < 0.1716: error 2^-54.
inline constexpr std::array kLog2AfterLinear = {
    0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9c71p-1, 0x1.a61762a7863ffp-2, 0x1.484b1401c7f94p-2,
    0x1.0c9a6ec3ee6a0p-2, 0x1.c69ba0c733d1cp-3, 0x1.880b4408a2f65p-3, 0x1.82aab217db0bep-3};

// log2 x for positive normal x of at most 52 digits, those of a mantissa and of it plus one. The
// terms after the linear one are at most a hundredth of it, so their roundings count little. 0 for
// 1.
template <DoubleTag D>
HWY_INLINE Exact<D> Log2Of(D d, hn::Vec<D> x) {
  const BinaryParts<D> parts = BinaryPartsOf(d, x);
  const auto one = hn::Set(d, 1);
  const auto below = hn::Sub(parts.mantissa, one);
  const auto above = hn::Add(parts.mantissa, one);
  const auto inverse = hn::Div(one, above);
  const auto s = hn::Mul(below, inverse);
  const auto s_rest = hn::Mul(RestOfQuotient(d, below, above, s), inverse);
  const auto square = hn::Mul(s, s);
  const auto after_linear = hn::Mul(hn::Mul(s, square), PolynomialOf(d, square, kLog2AfterLinear));
  const auto linear = ExactProduct(d, s, hn::Set(d, kTwoByLn2));
  auto rest = hn::MulAdd(s, hn::Set(d, kTwoByLn2Rest), linear.error);
  rest = hn::Add(hn::MulAdd(s_rest, hn::Set(d, kTwoByLn2), rest), after_linear);
  // The exponent is zero, or larger than the rest.
  const auto sum = hn::Add(parts.exponent, linear.value);
  rest = hn::Add(hn::Sub(linear.value, hn::Sub(sum, parts.exponent)), rest);
  const auto value = hn::Add(sum, rest);
  return {value, hn::Sub(rest, hn::Sub(value, sum))};
}

// ------------------------------------------------------------------ 2^x

// 2^(value + error) for any value, and an error that is small unless the value is large: 0 from
// -1023 down, or very small, infinite from 1024 on.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> Exp2Of(D d, const Exact<D>& x) {
  const auto one = hn::Set(d, 1);
  const auto ln2 = hn::Set(d, kLn2);
  const auto error = AtMost(d, AtLeast(d, x.error, -0.125), 0.125);
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (kSplitsByEighthRoot<D>) {
    const auto value = AtMost(d, AtLeast(d, x.value, -1100), 1100);
    const auto shifter = hn::Set(d, 0x1.8p49);
    const auto shifted = hn::Add(value, shifter);
    const auto k = hn::Sub(shifted, shifter);
    const __m512d root =
        _mm512_permutexvar_pd(_mm512_castpd_si512(shifted.raw), _mm512_load_pd(kEighthRootPowers));
    const hn::Vec<D> scale{_mm512_scalef_pd(root, k.raw)};
    const auto rest = hn::Mul(hn::Add(hn::Sub(value, k), error), ln2);
    return hn::Mul(scale, hn::MulAdd(rest, HornerOf<0, 1>(d, rest, kGrowthOfSmall), one));
  }
#endif
  const BitsTag<D> du;
  const auto value = AtMost(d, AtLeast(d, x.value, -1023), 1024);
  const auto shifter = hn::Set(d, 0x1.8p52 + 1023);
  const auto shifted = hn::Add(value, shifter);
  const auto scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
  const auto k = hn::Sub(shifted, shifter);
  const auto rest = hn::Mul(hn::Add(hn::Sub(value, k), error), ln2);
  return hn::Mul(scale, hn::MulAdd(rest, PolynomialOf(d, rest, kGrowth), one));
}

// ------------------------------------------------------------------ x^y

// Where |x| is zero or infinite, or one of both is NaN; but for the sign.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> SpecialPowerOf(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1);
  const auto magnitude = hn::Abs(x);
  const auto is_growing = hn::And(hn::Gt(magnitude, zero), hn::Gt(y, zero));
  const auto is_inverse = hn::And(hn::Eq(magnitude, zero), hn::Lt(y, zero));
  const auto is_number = hn::And(hn::Eq(x, x), hn::Eq(y, y));
  const auto power = hn::IfThenElseZero(hn::Or(is_growing, is_inverse), hn::Inf(d));
  const auto is_one = hn::Or(hn::Eq(x, one), hn::Eq(y, zero));
  return hn::IfThenElse(is_one, one, hn::IfThenElse(is_number, power, hn::NaN(d)));
}

// The power of a negative number, from that of its magnitude; others stay.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> WithSignOfBase(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> power) {
  const auto half = hn::Mul(y, hn::Set(d, 0.5));
  const auto is_whole = hn::Eq(TowardZero(d, y), y);
  const auto is_odd = hn::AndNot(hn::Eq(TowardZero(d, half), half), is_whole);
  const auto is_negative = hn::And(hn::Lt(x, hn::Zero(d)), hn::Gt(x, hn::Neg(hn::Inf(d))));
  const auto sign = hn::IfThenElseZero(is_odd, hn::And(x, hn::SignBit(d)));
  return hn::IfThenElse(hn::AndNot(is_whole, is_negative), hn::NaN(d), hn::Xor(power, sign));
}

// C's pow of any x that is a float or an integer of up to 32 bits, and of any y. Error 2^-48
// (measured, over two million pairs: 2^-48.8 with AVX-512, else 2^-49.8) where the result is from
// 2^-155 to 2^130; smaller results are at most 2^-151, larger ones at least 2^128.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> PowOf(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto zero = hn::Zero(d);
  const auto magnitude = hn::Abs(x);
  // Beyond, as at infinity, all powers but those of one are 0 or infinite.
  const auto exponent = AtMost(d, AtLeast(d, y, -0x1p128), 0x1p128);
  const auto logarithm = Log2Of(d, magnitude);
  const auto product = ExactProduct(d, logarithm.value, exponent);
  const auto error = hn::MulAdd(logarithm.error, exponent, product.error);
  auto power = Exp2Of(d, Exact<D>{product.value, error});
  const auto is_finite = hn::And(hn::Gt(magnitude, zero), hn::Lt(magnitude, hn::Inf(d)));
  const auto is_usual = hn::And(is_finite, hn::Eq(y, y));
  if (HWY_UNLIKELY(!hn::AllTrue(d, is_usual))) {
    power = hn::IfThenElse(is_usual, power, SpecialPowerOf(d, x, y));
  }
  // Zeros have signs too.
  const auto has_sign = hn::Lt(hn::CopySign(hn::Set(d, 1), x), zero);
  if (HWY_UNLIKELY(!hn::AllFalse(d, has_sign))) power = WithSignOfBase(d, x, y, power);
  return power;
}

// The same to some 95 digits, where PowOf gives a number other than 0 and 1.
inline slow::DoubleDouble SlowPow(double x, double y) {
  const slow::DoubleDouble power = slow::Pow(std::abs(x), y);
  return x < 0 && std::fmod(y, 2) != 0 ? -power : power;
}

// ------------------------------------------------------------------ POW

struct PowFunction {
  static constexpr int kErrorBits = 46;
  std::array<double, 2> parameters() const { return {}; }
  template <DoubleTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x, hn::Vec<D> y) const {
    return PowOf(d, x, y);
  }
  slow::DoubleDouble Slow(double x, double y) const { return SlowPow(x, y); }
};

// The exponents are those of any type, widened.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> Pow(D d, Value<D> x, hn::Vec<hn::Rebind<double, D>> exponent) {
  return Decided(d, PowFunction(), x, exponent);
}

// ------------------------------------------------------------------ CONSTANT_POW

struct ConstantPowFunction {
  static constexpr int kErrorBits = 46;
  double exponent;
  std::array<double, 2> parameters() const { return {exponent}; }

  template <DoubleTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    return PowOf(d, x, hn::Set(d, exponent));
  }
  slow::DoubleDouble Slow(double x) const { return SlowPow(x, exponent); }
};

// Squares are exact in FLOAT64, and roots have more than twice the digits of an element, so that
// the second rounding changes nothing. The root of -0 is +0 here, that of minus infinity infinite.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> ConstantPow(D d, Value<D> x, float exponent) {
  const hn::Rebind<double, D> dd;
  if (exponent == 2) {
    const auto wide = Widened(d, x);
    return Narrowed(d, hn::Mul(wide, wide));
  }
  if (exponent == 0.5f) {
    const auto wide = hn::Add(Widened(d, x), hn::Zero(dd));
    const auto is_least = hn::Eq(wide, hn::Neg(hn::Inf(dd)));
    return Narrowed(d, hn::IfThenElse(is_least, hn::Inf(dd), hn::Sqrt(wide)));
  }
  return Decided(d, ConstantPowFunction{exponent}, x);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_POWER_INL_H_
