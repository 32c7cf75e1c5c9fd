// Remainders without a division: by a quotient that an estimate of the divisor's inverse gives, and
// that is a little wrong at most. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ESTIMATED_REMAINDER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ESTIMATED_REMAINDER_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ESTIMATED_REMAINDER_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ESTIMATED_REMAINDER_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Floats

#if HWY_NATIVE_FMA
// A remainder that may be wrong: it is right in the lanes where its bits are a number below those
// of the divisor, without sign, or where it is a NaN and the divisor is one.
//
// For it is x - q * y for some integer q, computed by one fused operation and at most one addition
// of y. Numbers in [-y, y) that are multiples of the unit in the last place of y are exact, and
// rounding takes no other number there.
template <class D>
using RemainderBits = hn::Vec<BitsTag<D>>;

// `left`, or y more where that is below zero: as bits without sign, such numbers are the largest.
template <class D>
HWY_INLINE RemainderBits<D> RaisedToPositive(D d, hn::Vec<D> left, hn::Vec<D> y) {
  const BitsTag<D> du;
  return hn::Min(hn::BitCast(du, left), hn::BitCast(du, hn::Add(left, y)));
}

// The remainder of FLOAT32 magnitudes of which x and y have at most 12 significant bits, so that
// products with small quotients are exact. Right for quotients of up to 2^10.
template <class D>
HWY_INLINE RemainderBits<D> EstimatedShortRemainder(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto quotient = hn::Round(hn::Mul(x, hn::ApproximateReciprocal(y)));
  return RaisedToPositive(d, hn::NegMulAdd(quotient, y, x), y);
}

// The remainder of FLOAT32 magnitudes in two steps, of which the second is taken where a vector
// needs it. The first one is right for quotients of up to 2^10, both are up to 2^20.
template <class D>
class EstimatedRemainder {
 public:
  HWY_INLINE EstimatedRemainder(hn::Vec<D> x, hn::Vec<D> y)
      : x_(x), y_(y), inverse_(hn::ApproximateReciprocal(y)), quotient_(QuotientOf(x)) {}

  // What the quotient so far leaves.
  HWY_INLINE RemainderBits<D> Result() const { return RaisedToPositive(D(), Left(), y_); }

  // Adds to the quotient what is left of it.
  HWY_INLINE void Correct() {
    const auto left = Left();
    quotient_ = hn::Add(quotient_, QuotientOf(left));
  }

 private:
  HWY_INLINE hn::Vec<D> Left() const { return hn::NegMulAdd(quotient_, y_, x_); }

  // Zero where x is less than y: a difference of the two need not be exact, while x is the
  // remainder.
  HWY_INLINE hn::Vec<D> QuotientOf(hn::Vec<D> v) const {
    return hn::IfThenZeroElse(hn::Lt(x_, y_), hn::Round(hn::Mul(v, inverse_)));
  }

  hn::Vec<D> x_;
  hn::Vec<D> y_;
  hn::Vec<D> inverse_;
  hn::Vec<D> quotient_;
};
#endif  // HWY_NATIVE_FMA

#if OPSERVE_HAVE_BIT_MASKS
// ------------------------------------------------------------------ FLOAT16

// Two vectors of FLOAT32 lanes for one of FLOAT16: those in even and in odd lanes.
struct HalfPair {
  __m512 even;
  __m512 odd;
};

// The magnitudes of FLOAT16 lanes times 2^-112: their exponents as they are in that of a FLOAT32,
// with infinities and NaNs as numbers above all others.
template <FullHalfTag D>
HWY_INLINE HalfPair ScaledMagnitudes(D /*tag*/, Value<D> v) {
  const __m512i magnitude = _mm512_set1_epi32(0x0FFFE000);
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_slli_epi32(v.raw, 13), magnitude)),
          _mm512_castsi512_ps(_mm512_and_si512(_mm512_srli_epi32(v.raw, 3), magnitude))};
}

// The remainders of FLOAT16 magnitudes in `result`. Returns false, with anything there, unless all
// are right.
template <FullHalfTag D>
HWY_INLINE bool EstimateHalfRemainders(D d, Value<D> x, Value<D> y, Value<D>& result) {
  using DFloat = hn::ScalableTag<float>;
  using VFloat = hn::Vec<DFloat>;
  const BitsTag<DFloat> du;
  const HalfPair xs = ScaledMagnitudes(d, x);
  const HalfPair ys = ScaledMagnitudes(d, y);
  const auto even = EstimatedShortRemainder(DFloat(), VFloat{xs.even}, VFloat{ys.even});
  const auto odd = EstimatedShortRemainder(DFloat(), VFloat{xs.odd}, VFloat{ys.odd});
  constexpr __mmask32 kOddLanes = 0xAAAAAAAA;
  result = Value<D>{_mm512_mask_mov_epi16(_mm512_srli_epi32(even.raw, 13), kOddLanes,
                                          _mm512_slli_epi32(odd.raw, 3))};
  const auto is_even_right = hn::Lt(even, hn::BitCast(du, VFloat{ys.even}));
  const auto is_odd_right = hn::Lt(odd, hn::BitCast(du, VFloat{ys.odd}));
  // Without signs, infinities and NaNs are above all numbers.
  const BitsTag<D> dh;
  const auto largest = hn::Max(hn::Add(x, x), hn::Add(y, y));
  const auto are_numbers = hn::Lt(largest, hn::Set(dh, uint16_t{0xF800}));
  return hn::AllTrue(du, hn::And(is_even_right, is_odd_right)) && hn::AllTrue(dh, are_numbers);
}

#endif  // OPSERVE_HAVE_BIT_MASKS

// ------------------------------------------------------------------ 16-bit integers

// Instructions for products of 16-bit integers, and to put FLOAT32 lanes together of them.
#undef OPSERVE_HAVE_SHORT_INVERSES
#if OPSERVE_HAVE_BIT_MASKS || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
#define OPSERVE_HAVE_SHORT_INVERSES 1

#if OPSERVE_HAVE_BIT_MASKS
// 2^16 / y for small y, rounded down to what 16 bits hold; zero for zero, which leaves x.
struct ShortInverses {
  constexpr ShortInverses() {
    for (uint32_t y = 2; y < values.size(); ++y) values[y] = static_cast<uint16_t>(0x10000 / y);
  }
  alignas(64) std::array<uint16_t, 32> values = {0, 0xFFFF};
};
inline constexpr ShortInverses kShortInverses;

// 2^16 / y as integers that are never above it. Those of the table are less than one below; the
// others, which are at most 2^11, by less than 1.4.
template <class D>
HWY_INLINE hn::Vec<D> InversesOfShorts(D du, hn::Vec<D> y) {
  // Above the bits of y, the exponent makes them 128 + y / 2^16. The divisor that is left is too
  // large by 2^-13, more than twice as much as estimates of inverses may be wrong by.
  constexpr float kScale = 1.0f + 0x1p-13f;
  const __m512i exponent = _mm512_set1_epi16(0x4300);
  const auto inverses = [&](__m512i bits) HWY_ATTR {
    const __m512 divisor = _mm512_fmsub_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(kScale),
                                           _mm512_set1_ps(128.0f * kScale));
    return _mm512_cvttps_epi32(_mm512_rcp14_ps(divisor));
  };
  const __m512i estimates = _mm512_packus_epi32(inverses(_mm512_unpacklo_epi16(y.raw, exponent)),
                                                inverses(_mm512_unpackhi_epi16(y.raw, exponent)));
  const auto is_small = hn::Lt(y, hn::Set(du, uint16_t{32}));
  return hn::Vec<D>{_mm512_mask_permutexvar_epi16(estimates, is_small.raw, y.raw,
                                                  hn::Load(du, kShortInverses.values.data()).raw)};
}
#else
// 2^16 / y as integers that are less than 1.2 below it and never above; anything for zero.
template <class D>
HWY_INLINE hn::Vec<D> InversesOfShorts(D du, hn::Vec<D> y) {
  const hn::RepartitionToWide<D> du32;
  const hn::RebindToFloat<decltype(du32)> df;
  const auto exponent = hn::Set(du, uint16_t{0x4300});
  const auto inverses = [&](hn::Vec<D> even) HWY_ATTR {
    // Above the bits of y, the exponent makes them 128 + y / 2^16.
    const auto bits = hn::BitCast(df, hn::OddEven(exponent, even));
    const auto divisor = hn::Sub(bits, hn::Set(df, 128.0f));
    // One step of Newton's makes the estimate right to some 2^-22, and here too small by 2^-20.
    const auto estimate = hn::ApproximateReciprocal(divisor);
    const auto factor = hn::NegMulAdd(estimate, divisor, hn::Set(df, 2.0f - 0x1p-20f));
    // The sum of this is rounded to an integer, which its last bits are.
    return hn::BitCast(du, hn::MulAdd(estimate, factor, hn::Set(df, 0x1p23f - 0.5f)));
  };
  const auto odd = inverses(hn::BitCast(du, hn::ShiftRight<16>(hn::BitCast(du32, y))));
  return hn::OddEven(hn::BitCast(du, hn::ShiftLeft<16>(hn::BitCast(du32, odd))), inverses(y));
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// x mod y for unsigned lanes of 16 bits that are at most `kLargest`. Gives x for a divisor of zero.
// The quotient is never too large, and too small by at most one for numbers of up to 2^15, else
// two.
template <uint32_t kLargest, class D>
HWY_INLINE hn::Vec<D> RemainderOfShorts(D du, hn::Vec<D> x, hn::Vec<D> y) {
  const auto quotient = hn::MulHigh(x, InversesOfShorts(du, y));
  auto r = hn::Sub(x, hn::Mul(quotient, y));
  r = hn::Min(r, hn::Sub(r, y));
  return kLargest > 0x8000 ? hn::Min(r, hn::Sub(r, y)) : r;
}
#else
#define OPSERVE_HAVE_SHORT_INVERSES 0
#endif  // OPSERVE_HAVE_BIT_MASKS || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4

// ------------------------------------------------------------------ 8-bit integers

#undef OPSERVE_HAVE_BYTE_TABLES
#if HWY_TARGET == HWY_AVX3_DL
#define OPSERVE_HAVE_BYTE_TABLES 1

// 2^8 / y for y below 128, rounded down to what 8 bits hold; zero for zero, which leaves x.
struct ByteInverses {
  constexpr ByteInverses() {
    for (uint32_t y = 2; y < values.size(); ++y) values[y] = static_cast<uint8_t>(0x100 / y);
  }
  alignas(64) std::array<uint8_t, 128> values = {0, 0xFF};
};
inline constexpr ByteInverses kByteInverses;

// x mod y for unsigned lanes of 8 bits that are at most `kLargest`. Gives x for a divisor of zero.
// Products are of lanes of 16 bits: those of even bytes, and those of odd ones. The inverses make
// quotients that are right or too small by one; from 128 on, where they are zero, too.
template <uint32_t kLargest, class D>
HWY_INLINE hn::Vec<D> RemainderOfBytes(D du, hn::Vec<D> x, hn::Vec<D> y) {
  const __m512i low_bytes = _mm512_set1_epi16(0xFF);
  const __m512i low_half = hn::Load(du, kByteInverses.values.data()).raw;
  const __m512i high_half = hn::Load(du, kByteInverses.values.data() + 64).raw;
  // Of an index that has 8 bits the look-up sees seven: 128 is zero to it, which is right.
  constexpr bool kHasLargeDivisors = kLargest > 128;
  const __mmask64 is_in_table =
      kHasLargeDivisors ? _mm512_testn_epi8_mask(y.raw, _mm512_set1_epi8(-128)) : ~__mmask64{0};
  const __m512i inverse =
      kHasLargeDivisors ? _mm512_maskz_permutex2var_epi8(is_in_table, low_half, y.raw, high_half)
                        : _mm512_permutex2var_epi8(low_half, y.raw, high_half);

  // The even byte beside an odd one is less than a unit of it, and does not change the quotient.
  const __m512i odd_quotient = _mm512_mulhi_epu16(x.raw, _mm512_andnot_si512(low_bytes, inverse));
  const __m512i even_quotient =
      _mm512_mulhi_epu16(_mm512_slli_epi16(x.raw, 8), _mm512_and_si512(low_bytes, inverse));
  const __m512i odd_product =
      _mm512_mullo_epi16(_mm512_andnot_si512(low_bytes, odd_quotient), _mm512_srli_epi16(y.raw, 8));
  const __m512i even_product = _mm512_mullo_epi16(even_quotient, y.raw);
  constexpr int kSecondWhereFirstElseThird = 0xCA;
  const hn::Vec<D> product{
      _mm512_ternarylogic_epi32(low_bytes, even_product, odd_product, kSecondWhereFirstElseThird)};
  const auto r = hn::Sub(x, product);
  return hn::Min(r, hn::Sub(r, y));
}
#else
#define OPSERVE_HAVE_BYTE_TABLES 0
#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ESTIMATED_REMAINDER_INL_H_
