// Elementary functions of FLOAT32, in pairs of FLOAT32 lanes. Included once per target.
//
// A vector holds twice as many FLOAT32 as FLOAT64 lanes. The sum of two of them, the smaller one
// computed with all its 24 digits, has some 33: too few for one result in some hundreds, but a test
// finds those (kernels/cpu/bodies/decided-inl.h), and FLOAT64 lanes compute them.
//
// Where a sum or product of lanes is called exact, the arguments of a step have so few digits that
// it is; tests/conformance/float_pairs_test.cc holds all errors against the C library.

#if defined(OPSERVE_KERNELS_CPU_BODIES_FLOAT_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_FLOAT_PAIRS_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_FLOAT_PAIRS_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_FLOAT_PAIRS_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

// They need fused operations, and tables of eight lanes. With AVX-512, FLOAT64 lanes have such
// tables of their own.
#undef OPSERVE_HAVE_FLOAT_PAIRS
#define OPSERVE_HAVE_FLOAT_PAIRS (HWY_TARGET == HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// high + low.
template <class D>
struct FloatPair {
  hn::Vec<D> high;
  hn::Vec<D> low;
};

// A result up to an error; only in lanes that are known.
template <class D>
struct PairResult {
  FloatPair<D> sum;
  hn::Vec<D> error;
  hn::Mask<D> is_known;
};

// Where a function of x is one of its limits, rounded, and which.
template <class D>
struct PairLimits {
  hn::Vec<D> values;
  hn::Mask<D> are_reached;
};

#if OPSERVE_HAVE_FLOAT_PAIRS

// ------------------------------------------------------------------ Steps

// By the lowest three bits of a lane.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> LookUp(D /*tag*/, const float (&table)[8], hn::Vec<D> index) {
  return hn::Vec<D>{
      _mm256_permutevar8x32_ps(_mm256_load_ps(table), _mm256_castps_si256(index.raw))};
}

// The same sum, with the nearest number as the high part, which is the larger one already.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> Normalized(D /*tag*/, const FloatPair<D>& pair) {
  const auto high = hn::Add(pair.high, pair.low);
  return {high, hn::Sub(pair.low, hn::Sub(high, pair.high))};
}

// a + b exactly, where the magnitude of a is the larger one, or a is zero.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> OrderedSum(D /*tag*/, hn::Vec<D> a, hn::Vec<D> b) {
  const auto high = hn::Add(a, b);
  return {high, hn::Sub(b, hn::Sub(high, a))};
}

// a + b exactly, of numbers that are not negative.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> SumOfMagnitudes(D /*tag*/, hn::Vec<D> a, hn::Vec<D> b) {
  const auto high = hn::Add(a, b);
  return {high, hn::Add(hn::Sub(hn::Max(a, b), high), hn::Min(a, b))};
}

// a b + c, where the magnitude of c is the larger one, or c is zero; all but exactly.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> ProductAndSum(D /*tag*/, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
  const auto high = hn::MulAdd(a, b, c);
  return {high, hn::MulAdd(a, b, hn::Sub(c, high))};
}

// A sum that is not negative, with the sign of x.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> WithSignOf(D d, const FloatPair<D>& sum, hn::Vec<D> x) {
  const auto sign = hn::And(x, hn::SignBit(d));
  return {hn::Or(sum.high, sign), hn::Xor(sum.low, sign)};
}

// The high part within a unit in the last place of the quotient, and what is left of the dividend
// divided likewise.
template <class D>
struct PairQuotient {
  FloatPair<D> sum;
  hn::Vec<D> reciprocal;  // of the divisor
};
template <FullFloatTag D>
HWY_INLINE PairQuotient<D> QuotientOf(D d, const FloatPair<D>& dividend,
                                      const FloatPair<D>& divisor) {
  const auto reciprocal = hn::Div(hn::Set(d, 1), divisor.high);
  const auto high = hn::Mul(dividend.high, reciprocal);
  const auto rest = hn::NegMulAdd(high, divisor.high, dividend.high);
  const auto low_rest = hn::NegMulAdd(high, divisor.low, dividend.low);
  return {{high, hn::Mul(hn::Add(rest, low_rest), reciprocal)}, reciprocal};
}

// ------------------------------------------------------------------ e^x

// 2^(i/8), and by how much more than one this is times what is there, which is rounded.
alignas(32) inline constexpr float kPairRootPowers[8] = {
    0x1.000000p+0f, 0x1.172b84p+0f, 0x1.306fe0p+0f, 0x1.4bfdaep+0f,
    0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
alignas(32) inline constexpr float kPairRootPowerRests[8] = {0.0f,
                                                             -0x1.9c0c22p-27f,
                                                             0x1.125002p-25f,
                                                             -0x1.0a3550p-25f,
                                                             0x1.26055cp-26f,
                                                             0x1.67a1cap-28f,
                                                             -0x1.f9c304p-27f,
                                                             -0x1.a5217cp-28f};
// (e^r - 1 - r) / r^2 for |r| < 0.0434: e^r within 2^-41.3.
inline constexpr std::array kPairGrowth = {0x1.000000p-1f, 0x1.555556p-3f, 0x1.555d00p-5f,
                                           0x1.1115c4p-7f};

// e^x = scale (1 + rest + beyond), where |rest| < 0.0434 is exact and beyond, less than 2^-10, has
// 24 digits. In lanes with |x| < 88.
template <class D>
struct PairOfPower {
  hn::Vec<D> scale;
  hn::Vec<D> rest;
  hn::Vec<D> beyond;
};
template <FullFloatTag D>
HWY_INLINE PairOfPower<D> PowerInPairs(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  // Numbers from 2^23 on are integers: the sum rounds, and its low bits are the count of eighths.
  const auto shifter = hn::Set(d, 0x1.8p23f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p+3f), shifter);
  const auto k = hn::Sub(shifted, shifter);
  // ln(2) / 8 in three parts. Multiples of the first two are exact, and so are the differences.
  auto rest = hn::NegMulAdd(k, hn::Set(d, 0x1.62e0p-4f), x);
  rest = hn::NegMulAdd(k, hn::Set(d, 0x1.0cp-18f), rest);
  const auto more =
      hn::NegMulAdd(k, hn::Set(d, -0x1.05c61p-32f), LookUp(d, kPairRootPowerRests, shifted));
  // The bits above those of the index go to the exponent.
  const auto exponent = hn::ShiftLeft<23>(hn::ShiftRight<3>(hn::BitCast(du, shifted)));
  const auto root = hn::BitCast(du, LookUp(d, kPairRootPowers, shifted));
  const auto growth = HornerOf<0, 1>(d, rest, kPairGrowth);
  const auto square = hn::Mul(rest, rest);
  const auto grown = hn::MulAdd(square, hn::Set(d, 0.5f), rest);
  const auto beyond = hn::MulAdd(square, growth, hn::MulAdd(more, grown, more));
  return {hn::BitCast(d, hn::Add(root, exponent)), rest, beyond};
}

// The sum of a number and scale * (rest + beyond), where the number is not less than scale * rest,
// or zero.
template <FullFloatTag D>
HWY_INLINE FloatPair<D> PowerAndSum(D d, const PairOfPower<D>& power, hn::Vec<D> number) {
  const FloatPair<D> sum = ProductAndSum(d, power.scale, power.rest, number);
  return {sum.high, hn::MulAdd(power.scale, power.beyond, sum.low)};
}

// The error of the sum that PowerAndSum makes.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> ErrorOf(D d, const PairOfPower<D>& power) {
  const auto added = hn::Mul(power.scale, power.beyond);
  return hn::MulAdd(added, hn::Set(d, 0x1.2p-22f), hn::Mul(power.scale, hn::Set(d, 0x1p-40f)));
}

// Of smaller results the low part would not have all its digits; larger ones are as rare.
template <FullFloatTag D>
HWY_INLINE PairResult<D> ExpInPairs(D d, hn::Vec<D> x) {
  const PairOfPower<D> power = PowerInPairs(d, x);
  return {PowerAndSum(d, power, power.scale), ErrorOf(d, power),
          hn::Lt(hn::Abs(x), hn::Set(d, 72))};
}

// Zero, infinity, and NaN of NaN.
template <FullFloatTag D>
HWY_INLINE PairLimits<D> ExpLimits(D d, hn::Vec<D> x) {
  const auto is_small = hn::Lt(x, hn::Set(d, -104));
  const auto is_large = hn::Gt(x, hn::Set(d, 89));
  const auto beyond = hn::IfThenZeroElse(is_small, hn::Add(x, hn::Inf(d)));
  return {beyond, hn::Or(hn::Or(is_small, is_large), hn::IsNaN(x))};
}

// ------------------------------------------------------------------ SIGMOID

// 1 / (1 + e^-x). Smaller results are left to FLOAT64 lanes, as for ExpInPairs.
template <FullFloatTag D>
HWY_INLINE PairResult<D> SigmoidInPairs(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1);
  const PairOfPower<D> power = PowerInPairs(d, hn::Neg(x));
  const FloatPair<D> grown = Normalized(d, PowerAndSum(d, power, power.scale));
  FloatPair<D> divisor = SumOfMagnitudes(d, one, grown.high);
  divisor.low = hn::Add(divisor.low, grown.low);
  const PairQuotient<D> quotient = QuotientOf(d, {one, hn::Zero(d)}, divisor);
  // In this order, as the square of the reciprocal may be too small for a FLOAT32.
  const auto relative = hn::Mul(ErrorOf(d, power), quotient.reciprocal);
  const auto error = hn::Mul(relative, quotient.reciprocal);
  return {quotient.sum, hn::MulAdd(quotient.sum.high, hn::Set(d, 0x1p-40f), error),
          hn::Lt(hn::Abs(x), hn::Set(d, 64))};
}

// Zero and one, and NaN of NaN.
template <FullFloatTag D>
HWY_INLINE PairLimits<D> SigmoidLimits(D d, hn::Vec<D> x) {
  const auto is_small = hn::Lt(x, hn::Set(d, -104));
  const auto is_large = hn::Gt(x, hn::Set(d, 30));
  const auto large = hn::IfThenElse(is_large, hn::Set(d, 1), hn::Add(x, x));
  return {hn::IfThenZeroElse(is_small, large), hn::Or(hn::Or(is_small, is_large), hn::IsNaN(x))};
}

// ------------------------------------------------------------------ SWISH

// x / (1 + e^-scaled). Smaller numbers and results are left to FLOAT64 lanes: the low parts of
// theirs would not have all their digits.
template <FullFloatTag D>
HWY_INLINE PairResult<D> SwishInPairs(D d, hn::Vec<D> x, hn::Vec<D> scaled) {
  const PairResult<D> sigmoid = SigmoidInPairs(d, scaled);
  const auto magnitude = hn::Abs(x);
  const auto high = hn::Mul(sigmoid.sum.high, x);
  const auto low = hn::MulAdd(sigmoid.sum.low, x, hn::MulSub(sigmoid.sum.high, x, high));
  const auto is_usual =
      hn::And(hn::Gt(magnitude, hn::Set(d, 0x1p-40f)), hn::Lt(magnitude, hn::Set(d, 0x1p60f)));
  const auto has_digits = hn::Gt(hn::Abs(high), hn::Set(d, 0x1p-95f));
  return {{high, low},
          hn::Mul(sigmoid.error, magnitude),
          hn::And(sigmoid.is_known, hn::And(is_usual, has_digits))};
}

// x where it is zero, and where the divisor is next to 1.
template <FullFloatTag D>
HWY_INLINE PairLimits<D> SwishLimits(D d, hn::Vec<D> x, hn::Vec<D> scaled) {
  return {x, hn::Or(hn::Eq(x, hn::Zero(d)), hn::Gt(scaled, hn::Set(d, 30)))};
}

// ------------------------------------------------------------------ TANH

// n / (n + 2), where n = e^2|x| - 1: an error of n counts the less, the larger it is.
template <FullFloatTag D>
HWY_INLINE PairResult<D> TanhInPairs(D d, hn::Vec<D> x) {
  const auto two = hn::Set(d, 2);
  const auto magnitude = hn::Abs(x);
  // From there on the result is next to 1.
  const auto limited = hn::Min(magnitude, hn::Set(d, 16));
  const PairOfPower<D> power = PowerInPairs(d, hn::Add(limited, limited));
  const auto less_one = hn::Sub(power.scale, hn::Set(d, 1));
  const FloatPair<D> n = Normalized(d, PowerAndSum(d, power, less_one));
  FloatPair<D> divisor = SumOfMagnitudes(d, n.high, two);
  divisor.low = hn::Add(divisor.low, n.low);
  const PairQuotient<D> quotient = QuotientOf(d, n, divisor);
  // That of n is relative to what is added to the rest: near zero, too.
  const auto error = hn::Mul(hn::Mul(power.scale, power.beyond), hn::Set(d, 0x1.2p-21f));
  const auto by = hn::Mul(quotient.reciprocal, quotient.reciprocal);
  return {WithSignOf(d, quotient.sum, x),
          hn::MulAdd(error, by, hn::Mul(quotient.sum.high, hn::Set(d, 0x1p-36f))),
          hn::Lt(magnitude, hn::Inf(d))};
}

// ------------------------------------------------------------------ LOG

// By the three digits after the first one, rounded: the reciprocal of about that number, or of its
// half from 1.4375 on, with so few digits that products less one are exact; and its negative
// logarithm, a multiple of 2^-16 and the rest.
alignas(32) inline constexpr float kPairReciprocals[8] = {1.0f,    0.875f, 0.8125f, 0.71875f,
                                                          1.3125f, 1.25f,  1.125f,  1.0625f};
alignas(32) inline constexpr float kPairLogarithms[8] = {
    0.0f,          0x1.1178p-3f,  0x1.a940p-3f,  0x1.522cp-2f,
    -0x1.1674p-2f, -0x1.c900p-3f, -0x1.e270p-4f, -0x1.f0a0p-5f};
alignas(32) inline constexpr float kPairLogarithmRests[8] = {0.0f,
                                                             0x1.d044fcp-20f,
                                                             -0x1.2c3752p-19f,
                                                             -0x1.1f8c76p-18f,
                                                             -0x1.cababap-18f,
                                                             0x1.070cacp-20f,
                                                             -0x1.db8abcp-22f,
                                                             -0x1.86008cp-20f};
// (ln(1 + r) - r) / r^2 for |r| < 0.0704: ln(1 + r) within 2^-35.7 of it.
inline constexpr std::array kPairLog1p = {-0x1.000000p-1f, 0x1.555556p-2f,  -0x1.fffe94p-3f,
                                          0x1.9997fap-3f,  -0x1.5790a8p-3f, 0x1.26c238p-3f};

// ln x = k ln 2 - ln c + ln(1 + r), where x = 2^k m and c m = 1 + r, for normal numbers.
template <FullFloatTag D>
HWY_INLINE PairResult<D> LogInPairs(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  // Mantissas from 1.4375 / 2 to 1.4375.
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F380000)));
  const auto mantissa = hn::Sub(bits, hn::ShiftLeft<23>(exponent));
  const auto k = hn::ConvertTo(d, exponent);
  const auto index = hn::BitCast(d, hn::ShiftRight<20>(hn::Add(mantissa, hn::Set(di, 0x00080000))));
  const auto rest =
      hn::MulSub(hn::BitCast(d, mantissa), LookUp(d, kPairReciprocals, index), hn::Set(d, 1));
  // ln 2 as the logarithms of the table: sums are exact, and zero or larger than the rest.
  const auto whole = hn::MulAdd(k, hn::Set(d, 0x1.62e4p-1f), LookUp(d, kPairLogarithms, index));
  const auto whole_low =
      hn::MulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), LookUp(d, kPairLogarithmRests, index));
  FloatPair<D> sum = OrderedSum(d, whole, rest);
  const auto square = hn::Mul(rest, rest);
  sum.low = hn::MulAdd(square, HornerOf<0, 1>(d, rest, kPairLog1p), hn::Add(sum.low, whole_low));
  const auto error =
      hn::MulAdd(square, hn::Set(d, 0x1.cp-24f), hn::Mul(hn::Abs(sum.high), hn::Set(d, 0x1p-35f)));
  const auto is_normal = hn::And(hn::Ge(x, hn::Set(d, 0x1p-126f)), hn::Lt(x, hn::Inf(d)));
  return {sum, error, is_normal};
}

// NaN of negative numbers and NaN, and the infinities.
template <FullFloatTag D>
HWY_INLINE PairLimits<D> LogLimits(D d, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  const auto has_number = hn::And(hn::Gt(x, zero), hn::Lt(x, hn::Inf(d)));
  const auto large = hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), hn::Add(x, x));
  return {hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), large), hn::Not(has_number)};
}

// ------------------------------------------------------------------ ATAN

// atan(k / (7 - k)), and the rest.
alignas(32) inline constexpr float kPairArctangents[8] = {
    0.0f,           0x1.523978p-3f, 0x1.85a376p-2f, 0x1.4978fap-1f,
    0x1.dac670p-1f, 0x1.30b6d8p+0f, 0x1.67d886p+0f, 0x1.921fb6p+0f};
alignas(32) inline constexpr float kPairArctangentRests[8] = {0.0f,
                                                              0x1.0f26b8p-29f,
                                                              0x1.6cefb8p-27f,
                                                              0x1.934f70p-28f,
                                                              0x1.586ed4p-27f,
                                                              -0x1.a56c96p-26f,
                                                              0x1.de4cdep-27f,
                                                              -0x1.777a5cp-25f};
// (atan(r) / r - 1) / r^2 in powers of r^2, for |r| < 0.1435: atan(r) within 2^-40.3 of it.
inline constexpr std::array kPairArctangent = {-0x1.555556p-2f, 0x1.999954p-3f, -0x1.246a22p-3f,
                                               0x1.b4e2bcp-4f};

// atan |x| = atan(k / (7 - k)) + atan(r), where r = ((7 - k) |x| - k) / (k |x| + 7 - k) and k is
// 7 |x| / (1 + |x|), rounded: about evenly spaced angles.
template <FullFloatTag D>
HWY_INLINE PairResult<D> AtanInPairs(D d, hn::Vec<D> x) {
  // From there on the result is that of infinity.
  const auto magnitude = AtMost(d, hn::Abs(x), 0x1p60f);
  const auto shifter = hn::Set(d, 0x1.8p23f);
  // Processors differ in it, but all are near enough to choose k.
  const auto near_share = hn::ApproximateReciprocal(hn::Add(magnitude, hn::Set(d, 1)));
  const auto shifted = hn::MulAdd(hn::Mul(near_share, magnitude), hn::Set(d, 7), shifter);
  const auto k = hn::Sub(shifted, shifter);
  const auto others = hn::Sub(hn::Set(d, 7), k);
  // What is subtracted is k, or so near to it that the difference is exact.
  const auto product = hn::Mul(others, magnitude);
  const auto difference = hn::Sub(product, k);
  const auto dropped = hn::Sub(product, hn::Add(difference, k));
  const FloatPair<D> dividend = {difference,
                                 hn::Add(dropped, hn::MulSub(others, magnitude, product))};
  const auto multiple = hn::Mul(k, magnitude);
  FloatPair<D> divisor = SumOfMagnitudes(d, multiple, others);
  divisor.low = hn::Add(divisor.low, hn::MulSub(k, magnitude, multiple));
  const FloatPair<D> rest = QuotientOf(d, dividend, divisor).sum;

  // Angles are zero or larger than the rest.
  FloatPair<D> sum = OrderedSum(d, LookUp(d, kPairArctangents, shifted), rest.high);
  const auto square = hn::Mul(rest.high, rest.high);
  const auto cube = hn::Mul(square, rest.high);
  const auto rest_low =
      hn::NegMulAdd(rest.low, square, hn::Add(rest.low, LookUp(d, kPairArctangentRests, shifted)));
  sum.low =
      hn::Add(hn::MulAdd(cube, HornerOf<0, 1>(d, square, kPairArctangent), sum.low), rest_low);
  const auto error =
      hn::MulAdd(hn::Abs(cube), hn::Set(d, 0x1p-23f), hn::Mul(sum.high, hn::Set(d, 0x1p-40f)));
  return {WithSignOf(d, sum, x), error, hn::Eq(x, x)};
}

// ------------------------------------------------------------------ ERF

// erf(17/32 k + t) = value + t (slope + curve t) + t^3 (terms[0] + terms[1] t + ...) for each k and
// |t| < 17/64: within 2^-34.6 of it. The curve, a number for every k, has no rest: the others make
// up for it.
struct PairErrorFunction {
  alignas(32) float value[8];
  alignas(32) float value_rest[8];
  alignas(32) float slope[8];
  alignas(32) float slope_rest[8];
  alignas(32) float curve[8];
  alignas(32) float terms[7][8];
};
inline constexpr PairErrorFunction kPairErrorFunction = {
    .value = {0.0f, 0x1.1855a6p-1f, 0x1.bbef10p-1f, 0x1.f39bc2p-1f, 0x1.fea422p-1f, 0x1.ffe96ap-1f,
              0x1.ffff24p-1f, 0x1.fffffcp-1f},
    .value_rest = {0.0f, -0x1.774f82p-32f, -0x1.08cb76p-27f, 0x1.0b4a62p-27f, -0x1.ca55c4p-27f,
                   0x1.e28342p-27f, 0x1.b5109cp-28f, -0x1.b6e798p-26f},
    .slope = {0x1.20dd76p+0f, 0x1.b3aafcp-1f, 0x1.75a91ap-2f, 0x1.6c7e64p-4f, 0x1.94624ep-7f,
              0x1.fe41cep-11f, 0x1.6e2368p-15f, 0x1.2acee4p-20f},
    .slope_rest = {-0x1.f7e8cep-25f, 0x1.85419ap-26f, 0x1.fd101ep-28f, 0x1.cb47dcp-29f,
                   0x1.dc8bbap-33f, -0x1.c560eap-37f, -0x1.6b0216p-42f, -0x1.83eb5ap-45f},
    .curve = {0.0f, -0x1.cee5acp-2f, -0x1.8d03acp-2f, -0x1.2274b8p-3f, -0x1.ada874p-6f,
              -0x1.52d7b4p-9f, -0x1.23c436p-13f, -0x1.15cc38p-18f},
    .terms = {{-0x1.812746p-2f, -0x1.fa0298p-4f, 0x1.395478p-3f, 0x1.efb892p-4f, 0x1.0ea476p-5f,
               0x1.16c194p-8f, 0x1.26bf02p-12f, 0x1.4be74ep-17f},
              {0.0f, 0x1.77cd1cp-3f, 0x1.88e100p-5f, -0x1.92c852p-5f, -0x1.afe540p-6f,
               -0x1.39bf7cp-8f, -0x1.a51fc8p-12f, -0x1.1d6e22p-16f},
              {0x1.ce2e5ep-4f, -0x1.fa7408p-10f, -0x1.0f7c58p-4f, -0x1.454b2ep-8f, 0x1.9973bep-7f,
               0x1.f37628p-9f, 0x1.c081d8p-12f, 0x1.76c71ep-16f},
              {0.0f, -0x1.8de1fcp-5f, 0x1.5dead0p-7f, 0x1.021deep-6f, -0x1.dd6628p-10f,
               -0x1.12fffep-9f, -0x1.6c3ce0p-12f, -0x1.83ebeep-16f},
              {-0x1.b7db8ep-6f, 0x1.00b7fcp-7f, 0x1.9b0258p-7f, -0x1.882fb0p-8f, -0x1.ea309cp-10f,
               0x1.67039ap-11f, 0x1.c1fd48p-13f, 0x1.434fc2p-16f},
              {0.0f, 0x1.29e3aep-7f, -0x1.6513d6p-8f, -0x1.15c39ap-10f, 0x1.66bfd4p-10f,
               0x1.e3ead8p-18f, -0x1.94b0cep-14f, -0x1.c41998p-17f},
              {0x1.482beep-8f, -0x1.509710p-9f, -0x1.2ef304p-10f, 0x1.80793ap-10f, -0x1.209308p-12f,
               -0x1.17dcacp-13f, 0x1.b08a5cp-16f, 0x1.ddd110p-18f}}};

// Smaller numbers are left to FLOAT64 lanes: the low part would not have all its digits.
template <FullFloatTag D>
HWY_INLINE PairResult<D> ErfInPairs(D d, hn::Vec<D> x) {
  constexpr const PairErrorFunction& kTables = kPairErrorFunction;
  const auto magnitude = hn::Abs(x);
  const auto shifter = hn::Set(d, 0x1.8p23f);
  const auto shifted = hn::MulAdd(magnitude, hn::Set(d, 32.0f / 17), shifter);
  const auto t = hn::NegMulAdd(hn::Sub(shifted, shifter), hn::Set(d, 17.0f / 32), magnitude);
  auto terms = LookUp(d, kTables.terms[6], shifted);
  for (int i = 5; i >= 0; --i) terms = hn::MulAdd(terms, t, LookUp(d, kTables.terms[i], shifted));
  // What is added is the smaller part each time.
  FloatPair<D> slope =
      ProductAndSum(d, LookUp(d, kTables.curve, shifted), t, LookUp(d, kTables.slope, shifted));
  slope.low = hn::Add(slope.low, LookUp(d, kTables.slope_rest, shifted));
  FloatPair<D> sum = ProductAndSum(d, t, slope.high, LookUp(d, kTables.value, shifted));
  const auto added = hn::Mul(hn::Mul(hn::Mul(t, t), t), terms);
  sum.low = hn::Add(sum.low, LookUp(d, kTables.value_rest, shifted));
  sum.low = hn::Add(added, hn::MulAdd(t, slope.low, sum.low));
  const auto error =
      hn::MulAdd(hn::Abs(added), hn::Set(d, 0x1.6p-22f), hn::Mul(sum.high, hn::Set(d, 0x1p-34f)));
  const auto is_usual =
      hn::And(hn::Gt(magnitude, hn::Set(d, 0x1p-60f)), hn::Lt(magnitude, hn::Set(d, 3.95f)));
  return {WithSignOf(d, sum, x), error, is_usual};
}

// Zero, one, and NaN of NaN.
template <FullFloatTag D>
HWY_INLINE PairLimits<D> ErfLimits(D d, hn::Vec<D> x) {
  const auto is_large = hn::Ge(hn::Abs(x), hn::Set(d, 3.95f));
  const auto large = hn::CopySign(hn::Set(d, 1), x);
  return {hn::IfThenElse(is_large, large, hn::Add(x, x)),
          hn::Or(is_large, hn::Not(hn::Gt(hn::Abs(x), hn::Zero(d))))};
}

#endif  // OPSERVE_HAVE_FLOAT_PAIRS

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_FLOAT_PAIRS_INL_H_
