// Bodies of rounding to integers and of remainders. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ROUNDING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ROUNDING_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ROUNDING_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ROUNDING_INL_H_
#endif

#include <array>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/estimated_remainder-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ ROUND

enum RoundingMode { kHalvesToNearestEven, kTowardZero, kHalvesAwayFromZero };

// From this magnitude on every value is integral.
template <class T>
inline constexpr T kIntegralFrom = T{1} / std::numeric_limits<T>::epsilon();

template <class D>
HWY_INLINE hn::Vec<D> NearestEven([[maybe_unused]] D d, hn::Vec<D> x) {
#if OPSERVE_HAVE_ROUNDING
  return hn::Round(x);
#else
  const auto limit = hn::Set(d, kIntegralFrom<hn::TFromD<D>>);
  const auto magnitude = hn::Abs(x);
  // The first addition rounds to units, the second removes what it added.
  const auto rounded = hn::CopySign(hn::Sub(hn::Add(magnitude, limit), limit), x);
  // Adding zero changes no large value, and makes NaNs quiet.
  return hn::IfThenElse(hn::Lt(magnitude, limit), rounded, hn::Add(x, hn::Zero(d)));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> TowardZero([[maybe_unused]] D d, hn::Vec<D> x) {
#if OPSERVE_HAVE_ROUNDING
  return hn::Trunc(x);
#else
  const auto magnitude = hn::Abs(x);
  const auto nearest = NearestEven(d, magnitude);
  const auto excess = hn::IfThenElseZero(hn::Gt(nearest, magnitude), hn::Set(d, 1));
  return hn::CopySign(hn::Sub(nearest, excess), x);
#endif
}

template <int kMode, FloatTag D>
HWY_INLINE hn::Vec<D> Round(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  if constexpr (kMode == kHalvesToNearestEven) {
    return NearestEven(d, x);
  } else if constexpr (kMode == kTowardZero) {
    return TowardZero(d, x);
  } else {
    // Just below one half: the sum reaches the next integer exactly from a half on, also where
    // it is itself rounded.
    constexpr T kBelowHalf = T(0.5) - std::numeric_limits<T>::epsilon() / 4;
    return TowardZero(d, hn::Add(x, hn::CopySign(hn::Set(d, kBelowHalf), x)));
  }
}

// ------------------------------------------------------------------ CEIL, FLOOR

template <FloatTag D>
HWY_INLINE hn::Vec<D> RoundedDown([[maybe_unused]] D d, hn::Vec<D> x) {
#if OPSERVE_HAVE_ROUNDING
  return hn::Floor(x);
#else
  const auto whole = TowardZero(d, x);
  return hn::Sub(whole, hn::IfThenElseZero(hn::Gt(whole, x), hn::Set(d, 1)));
#endif
}

template <FloatTag D>
HWY_INLINE hn::Vec<D> RoundedUp([[maybe_unused]] D d, hn::Vec<D> x) {
#if OPSERVE_HAVE_ROUNDING
  return hn::Ceil(x);
#else
  // Where nothing is added, the sign of a zero stays.
  const auto whole = TowardZero(d, x);
  return hn::IfThenElse(hn::Lt(whole, x), hn::Add(whole, hn::Set(d, 1)), whole);
#endif
}

#if OPSERVE_HAVE_BIT_MASKS
// What rounding needs to know per FLOAT16 exponent, as bits of the value. Infinities and NaNs have
// the sign bit in `fraction` and `half`, which no number has.
struct HalfRoundingTables {
  using Table = std::array<uint16_t, 32>;

  constexpr HalfRoundingTables() {
    for (int e = 0; e < 31; ++e) {
      const int one = e < 15 || e > 24 ? 0 : 1 << (25 - e);
      // Below 1, the integral part is the sign alone; from 0.5 on, adding a half makes it 1.0.
      fraction[e] = static_cast<uint16_t>(e < 15 ? 0x7FFF : one == 0 ? 0 : one - 1);
      rounded_off[e] = e == 14 ? 0x03FF : fraction[e];
      half[e] = static_cast<uint16_t>(e == 14 ? 0x0400 : one / 2);
      odd[e] = static_cast<uint16_t>(e == 14 ? 0x3C00 : one);
    }
    fraction[31] = half[31] = 0x8000;
  }

  alignas(64) Table fraction = {};     // bits below one
  alignas(64) Table rounded_off = {};  // the same, after adding a half
  alignas(64) Table half = {};         // one half
  alignas(64) Table odd = {};          // what makes a sum of a tie odd
};
inline constexpr HalfRoundingTables kHalfRounding;

// FLOAT16 results of rounding, of which infinities and NaNs are not finished: they are the operand
// with the other sign.
template <FullHalfTag D>
struct RoundedHalves {
  Value<D> lanes;
  // Has the sign bit where lanes are not finished.
  Value<D> marks;

  static HWY_INLINE bool AreFinished(Value<D> marks) {
    return _mm512_movepi16_mask(marks.raw) == 0;
  }
  // `lanes` with those that are not finished; there is no other infinity or NaN among them.
  static HWY_INLINE Value<D> Finish(Value<D> lanes) {
    const BitsTag<D> du;
    const auto magnitude = hn::Add(lanes, lanes);
    constexpr uint16_t kInfinity = 0xF800;
    const auto is_special = hn::Gt(magnitude, hn::Set(du, uint16_t{kInfinity - 1}));
    const auto is_nan = hn::Gt(magnitude, hn::Set(du, kInfinity));
    const auto sign = hn::IfThenElseZero(is_special, hn::Set(du, uint16_t{0x8000}));
    const auto quiet = hn::IfThenElseZero(is_nan, hn::Set(du, uint16_t{0x0200}));
    return hn::Or(hn::Xor(lanes, sign), quiet);
  }
};

// FLOAT16, on its bits: everything follows from the exponent. Plain AVX-512, as Highway has neither
// look-ups in 16-bit lanes nor zeroing by mask in one instruction with them.
template <int kMode, FullHalfTag D>
HWY_INLINE RoundedHalves<D> Round(D /*tag*/, Value<D> x) {
  const BitsTag<D> du;
  // Look-ups use the low five bits of the index: the exponent without the sign.
  const __m512i exponent = hn::ShiftRight<10>(x).raw;
  const auto look_up = [&](const HalfRoundingTables::Table& table) HWY_ATTR {
    return _mm512_permutexvar_epi16(exponent, hn::Load(du, table.data()).raw);
  };

  if constexpr (kMode == kTowardZero) {
    // The sign is not cleared where `cleared` has it, but turned round.
    const __m512i cleared = look_up(kHalfRounding.fraction);
    constexpr int kXorWhereThirdElseAndNot = 0x38;
    return {Value<D>{_mm512_ternarylogic_epi64(x.raw, cleared, hn::Set(du, uint16_t{0x8000}).raw,
                                               kXorWhereThirdElseAndNot)},
            Value<D>{cleared}};
  } else {
    const __m512i cleared = look_up(kHalfRounding.rounded_off);
    const __m512i half = look_up(kHalfRounding.half);
    const __m512i sum = _mm512_add_epi16(x.raw, half);
    if constexpr (kMode == kHalvesAwayFromZero) {
      return {Value<D>{_mm512_andnot_si512(cleared, sum)}, Value<D>{half}};
    } else {
      // Only a tie leaves no fraction behind. An odd sum of one becomes the even value below.
      const __mmask32 is_tie = _mm512_testn_epi16_mask(sum, cleared);
      const __m512i odd = _mm512_maskz_permutexvar_epi16(
          is_tie, exponent, hn::Load(du, kHalfRounding.odd.data()).raw);
      constexpr int kFirstAndNeitherOther = 0x10;
      return {Value<D>{_mm512_ternarylogic_epi64(sum, cleared, odd, kFirstAndNeitherOther)},
              Value<D>{half}};
    }
  }
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// ------------------------------------------------------------------ MODULUS_TRUNCATE

// Lanes of `x` that are too large for one division, replaced by what remains after taking off a
// multiple of `y` that is too small by a few units in the last place of the quotient `q`.
template <int kDivisorBits, class D>
HWY_INLINE hn::Vec<D> ReduceOnce(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> q,
                                 hn::Mask<D> is_large) {
  using TBits = hn::TFromD<BitsTag<D>>;
  const BitsTag<D> du;
  // Without fused arithmetic, the product is exact only for shorter quotients.
  constexpr TBits kDropped = HWY_NATIVE_FMA ? 0 : (TBits{1} << kDivisorBits) - 1;
  const auto below = hn::Sub(hn::BitCast(du, q), hn::Set(du, TBits{1}));
  const auto quotient = hn::BitCast(d, hn::AndNot(hn::Set(du, kDropped), below));
  return hn::IfThenElse(is_large, hn::NegMulAdd(quotient, y, x), x);
}

// x mod y for magnitudes, exact if x and y have at most kDivisorBits significant bits and x / y
// does not overflow. Quotients of up to the lane's precision take one division: the truncated
// quotient is at most one too large, and the remainder is exact in either case. Larger ones are
// reduced first.
template <int kDivisorBits, class D>
HWY_INLINE hn::Vec<D> RemainderOfMagnitudes(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  constexpr int kQuotientBits =
      std::numeric_limits<T>::digits - (HWY_NATIVE_FMA ? 0 : kDivisorBits);
  const auto limit = hn::Set(d, static_cast<T>(uint64_t{1} << kQuotientBits));
  auto q = hn::Div(x, y);
  for (;;) {
    const auto is_large = hn::And(hn::Ge(q, limit), hn::Lt(q, hn::Inf(d)));
    if (HWY_LIKELY(hn::AllFalse(d, is_large))) break;
    x = ReduceOnce<kDivisorBits>(d, x, y, q, is_large);
    q = hn::Div(x, y);
  }
  auto r = hn::NegMulAdd(TowardZero(d, q), y, x);
  r = hn::IfThenElse(hn::Lt(r, hn::Zero(d)), hn::Add(r, y), r);
  return hn::IfThenElse(hn::Lt(x, y), x, r);
}

// FLOAT16, in FLOAT32 lanes.
template <HalfInFloatTag D>
HWY_INLINE Value<D> ModulusTruncate(D /*tag*/, Value<D> x, Value<D> y) {
  const hn::Rebind<float, D> df;
  const BitsTag<D> du;
  const auto ax = hn::Abs(PromoteHalf(df, x));
  const auto ay = hn::Abs(PromoteHalf(df, y));
#if HWY_NATIVE_FMA
  const BitsTag<decltype(df)> du32;
  auto r = hn::BitCast(df, EstimatedShortRemainder(df, ax, ay));
  const auto is_right = hn::Lt(hn::BitCast(du32, r), hn::BitCast(du32, ay));
  if (HWY_UNLIKELY(!hn::AllTrue(du32, is_right))) r = RemainderOfMagnitudes<11>(df, ax, ay);
#else
  const auto r = RemainderOfMagnitudes<11>(df, ax, ay);
#endif
  return hn::Or(DemoteHalf(df, r), hn::And(x, hn::Set(du, uint16_t{0x8000})));
}

#if OPSERVE_HAVE_BIT_MASKS
// The same for a full vector; out of line, as few vectors need it.
template <FullHalfTag D>
HWY_NOINLINE void RemainderInFloats(D d, const uint16_t* HWY_RESTRICT x,
                                    const uint16_t* HWY_RESTRICT y, uint16_t* HWY_RESTRICT result) {
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> dh;
  const BitsTag<decltype(dh)> du;
  for (size_t i = 0; i < Lanes(d); i += Lanes(dh)) {
    hn::Store(ModulusTruncate(dh, hn::Load(du, x + i), hn::Load(du, y + i)), du, result + i);
  }
}

// FLOAT16, in full vectors, where quotients are not large.
template <FullHalfTag D>
HWY_INLINE Value<D> ModulusTruncate(D d, Value<D> x, Value<D> y) {
  const BitsTag<D> du;
  Value<D> r;
  if (HWY_UNLIKELY(!EstimateHalfRemainders(d, x, y, r))) {
    HWY_ALIGN uint16_t xs[MaxLanes(D())];
    HWY_ALIGN uint16_t ys[MaxLanes(D())];
    HWY_ALIGN uint16_t results[MaxLanes(D())];
    hn::Store(x, du, xs);
    hn::Store(y, du, ys);
    RemainderInFloats(d, xs, ys, results);
    r = hn::Load(du, results);
  }
  return hn::Or(r, hn::And(x, hn::Set(du, uint16_t{0x8000})));
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// FLOAT32 magnitudes, in FLOAT64 lanes.
template <FloatInDoubleTag D>
HWY_INLINE hn::Vec<D> RemainderInDoubles(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<double, D> dd;
  return hn::DemoteTo(d, RemainderOfMagnitudes<24>(dd, hn::PromoteTo(dd, x), hn::PromoteTo(dd, y)));
}

#if HWY_NATIVE_FMA
// The same for a full vector; out of line, as few vectors need it.
template <class D>
HWY_NOINLINE void RemainderInDoubles(D /*tag*/, const float* HWY_RESTRICT x,
                                     const float* HWY_RESTRICT y, float* HWY_RESTRICT result) {
  const hn::Rebind<float, hn::ScalableTag<double>> d;
  for (size_t i = 0; i < MaxLanes(D()); i += Lanes(d)) {
    hn::Store(RemainderInDoubles(d, hn::Load(d, x + i), hn::Load(d, y + i)), d, result + i);
  }
}

// FLOAT32. In FLOAT32 lanes where quotients fit, which is the usual case.
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const BitsTag<D> du;
  const auto ax = hn::Abs(x);
  const auto ay = hn::Abs(y);
  const auto divisor = hn::BitCast(du, ay);
  EstimatedRemainder<D> estimate(ax, ay);
  auto r = estimate.Result();
  if (HWY_UNLIKELY(!hn::AllTrue(du, hn::Lt(r, divisor)))) {
    estimate.Correct();
    r = estimate.Result();
    const auto is_right = hn::Lt(r, divisor);
    if (HWY_UNLIKELY(!hn::AllTrue(du, is_right))) {
      HWY_ALIGN float xs[MaxLanes(D())];
      HWY_ALIGN float ys[MaxLanes(D())];
      HWY_ALIGN float results[MaxLanes(D())];
      hn::Store(ax, d, xs);
      hn::Store(ay, d, ys);
      RemainderInDoubles<D>(d, xs, ys, results);
      r = hn::IfThenElse(is_right, r, hn::BitCast(du, hn::Load(d, results)));
    }
  }
  return hn::Or(hn::BitCast(d, r), hn::And(x, hn::SignBit(d)));
}
#else
template <FloatInDoubleTag D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Or(RemainderInDoubles(d, hn::Abs(x), hn::Abs(y)), hn::And(x, hn::SignBit(d)));
}
#endif  // HWY_NATIVE_FMA

// Remainders of a division by zero: the dividend, or all ones where unsigned.
template <class D>
HWY_INLINE hn::Vec<D> FixZeroDivisor(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> r) {
  using T = hn::TFromD<D>;
  const auto by_zero = std::is_signed_v<T> ? x : hn::Set(d, static_cast<T>(~T{0}));
  return hn::IfThenElse(hn::Eq(y, hn::Zero(d)), by_zero, r);
}

// The remainder of integers that are exact in the lanes of D, with room for quotients: division
// never rounds a quotient up to the next integer.
template <class D>
HWY_INLINE hn::Vec<D> RemainderOfIntegers(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::NegMulAdd(TowardZero(d, hn::Div(x, y)), y, x);
}

// `r` with the sign of x, which it may have lost.
template <class D, class VBits>
HWY_INLINE hn::Vec<D> WithSignOf(D d, hn::Vec<D> x, VBits r) {
  const auto sign = hn::BroadcastSignBit(x);
  return hn::Sub(hn::Xor(hn::BitCast(d, r), sign), sign);
}

#if OPSERVE_HAVE_BYTE_TABLES
// 8-bit integers, by estimated quotients.
template <FullIntTag<1> D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const BitsTag<D> du;
  if constexpr (std::is_signed_v<hn::TFromD<D>>) {
    const auto ax = hn::BitCast(du, hn::Abs(x));
    return WithSignOf(d, x, RemainderOfBytes<128>(du, ax, hn::BitCast(du, hn::Abs(y))));
  } else {
    return FixZeroDivisor(d, x, y, RemainderOfBytes<255>(du, x, y));
  }
}
#else
// x mod y for unsigned lanes of 8 bits, as long division: takes off y * 2^k where that leaves
// no less than zero. Gives x for a divisor of zero. Multiples saturate at the largest value, where
// they must exceed every x.
template <class D>
HWY_INLINE hn::Vec<D> RemainderByLongDivision(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  constexpr int kBits = 8;
  hn::Vec<D> multiples[kBits];
  multiples[0] = y;
  for (int k = 1; k < kBits; ++k) {
    multiples[k] = hn::SaturatedAdd(multiples[k - 1], multiples[k - 1]);
  }
  // A difference below zero wraps to a large number.
  for (int k = kBits - 1; k >= 0; --k) x = hn::Min(x, hn::Sub(x, multiples[k]));
  return x;
}

// 8-bit integers.
template <IntTag<1> D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const BitsTag<D> du;
  if constexpr (std::is_signed_v<T>) {
    const auto r =
        RemainderByLongDivision(du, hn::BitCast(du, hn::Abs(x)), hn::BitCast(du, hn::Abs(y)));
    return WithSignOf(d, x, r);
  } else {
    const auto largest = hn::Set(d, static_cast<T>(~T{0}));
    // Takes y off the largest value, which saturated multiples would not exceed.
    const auto below = hn::Sub(x, hn::IfThenElseZero(hn::Eq(x, largest), y));
    return FixZeroDivisor(d, x, y, RemainderByLongDivision(d, below, y));
  }
}
#endif  // OPSERVE_HAVE_BYTE_TABLES

#if OPSERVE_HAVE_SHORT_INVERSES
// 16-bit integers, by estimated quotients.
template <FullIntTag<2> D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const BitsTag<D> du;
  if constexpr (std::is_signed_v<hn::TFromD<D>>) {
    const auto ax = hn::BitCast(du, hn::Abs(x));
    return WithSignOf(d, x, RemainderOfShorts<0x8000>(du, ax, hn::BitCast(du, hn::Abs(y))));
  } else {
    return FixZeroDivisor(d, x, y, RemainderOfShorts<0xFFFF>(du, x, y));
  }
}
#else
// 16-bit integers, in FLOAT32 lanes.
template <Int16InFloatTag D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<int32_t, D> di;
  const hn::Rebind<float, D> df;
  // A divisor of one in place of zero keeps the conversion back in range.
  const auto divisor = hn::Max(hn::Abs(hn::PromoteTo(di, y)), hn::Set(di, 1));
  const auto r =
      RemainderOfIntegers(df, hn::ConvertTo(df, hn::PromoteTo(di, x)), hn::ConvertTo(df, divisor));
  return FixZeroDivisor(d, x, y, hn::DemoteTo(d, hn::ConvertTo(di, r)));
}
#endif  // OPSERVE_HAVE_SHORT_INVERSES

// 32-bit integers to FLOAT64 lanes and back.
template <class D, class VInt>
HWY_INLINE hn::Vec<D> ToDouble(D dd, VInt v) {
  const hn::Rebind<int32_t, D> di32;
  if constexpr (std::is_same_v<VInt, hn::Vec<hn::Rebind<int32_t, D>>>) {
    (void)di32;
    return hn::PromoteTo(dd, v);
  } else {
    // 2^52 plus the value, put together from bits.
    const BitsTag<D> du;
    const auto bits = hn::Or(hn::PromoteTo(du, v), hn::Set(du, uint64_t{0x4330000000000000}));
    return hn::Sub(hn::BitCast(dd, bits), hn::Set(dd, 0x1p52));
  }
}

template <class DInt, class D>
HWY_INLINE hn::Vec<DInt> FromDouble(DInt d, D dd, hn::Vec<D> v) {
  if constexpr (std::is_signed_v<hn::TFromD<DInt>>) {
    return hn::DemoteTo(d, v);
  } else {
    const BitsTag<D> du;
    return hn::TruncateTo(d, hn::BitCast(du, hn::Add(v, hn::Set(dd, 0x1p52))));
  }
}

// 32-bit integers, in FLOAT64 lanes.
template <Int32InDoubleTag D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<double, D> dd;
  const auto divisor = hn::IfThenElse(hn::Eq(y, hn::Zero(d)), hn::Set(d, 1), y);
  const auto r = RemainderOfIntegers(dd, ToDouble(dd, x), ToDouble(dd, divisor));
  return FixZeroDivisor(d, x, y, FromDouble(d, dd, r));
}

#if OPSERVE_HAVE_BIT_MASKS
// Takes off as many y as the FLOAT64 product of x and the inverse says, which is never too many.
template <class D>
HWY_INLINE hn::Vec<D> ReduceByInverse(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y,
                                      hn::Vec<hn::Rebind<double, D>> inverse) {
  const __m512d quotient = _mm512_mul_pd(_mm512_cvtepu64_pd(x.raw), inverse.raw);
  const hn::Vec<D> whole{_mm512_cvttpd_epu64(quotient)};
  return hn::Sub(x, hn::Mul(whole, y));
}

// x mod y for unsigned 64-bit lanes; anything for a divisor of zero. The inverse is too small by
// some 2^-50, more than all roundings together. So the first step leaves less than 2^15 times y,
// the second less than twice y.
template <class D>
HWY_INLINE hn::Vec<D> RemainderByInverse(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<double, D> dd;
  const hn::Vec<decltype(dd)> divisor{_mm512_cvtepu64_pd(y.raw)};
  const auto inverse = hn::Div(hn::Set(dd, 1.0 - 0x1p-50), divisor);
  x = ReduceByInverse(d, x, y, inverse);
  x = ReduceByInverse(d, x, y, inverse);
  return hn::Min(x, hn::Sub(x, y));
}

// 64-bit integers, by quotients that FLOAT64 lanes estimate.
template <IntTag<8> D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const BitsTag<D> du;
  if constexpr (std::is_signed_v<hn::TFromD<D>>) {
    const auto r = RemainderByInverse(du, hn::BitCast(du, hn::Abs(x)), hn::BitCast(du, hn::Abs(y)));
    return FixZeroDivisor(d, x, y, WithSignOf(d, x, r));
  } else {
    return FixZeroDivisor(d, x, y, RemainderByInverse(d, x, y));
  }
}
#else
// One pair of 64-bit integers.
template <class T>
HWY_INLINE T RemainderOf(T x, T y) {
  if (y == 0) return std::is_signed_v<T> ? x : static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    // INT64_MIN / -1 overflows, and traps.
    if (y == -1) return 0;
  }
  // Short operands divide faster on many processors.
  if (((static_cast<uint64_t>(x) | static_cast<uint64_t>(y)) >> 32) == 0) {
    return static_cast<T>(static_cast<uint32_t>(x) % static_cast<uint32_t>(y));
  }
  return x % y;
}

// 64-bit integers, one by one: without instructions to convert them, vectors are no faster.
template <IntTag<8> D>
HWY_INLINE hn::Vec<D> ModulusTruncate(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T xs[MaxLanes(D())];
  HWY_ALIGN T ys[MaxLanes(D())];
  hn::Store(x, d, xs);
  hn::Store(y, d, ys);
  for (size_t i = 0; i < Lanes(d); ++i) xs[i] = RemainderOf(xs[i], ys[i]);
  return hn::Load(d, xs);
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// ------------------------------------------------------------------ MODULUS_FLOOR

// Remainders of the truncated division `r`, moved to the side of y.
template <FloatTag D>
HWY_INLINE hn::Vec<D> OnSideOf(D d, hn::Vec<D> y, hn::Vec<D> r) {
  const auto zero = hn::Zero(d);
  const auto differs =
      hn::Lt(hn::Xor(hn::CopySign(hn::Set(d, 1), r), hn::And(y, hn::SignBit(d))), zero);
  const auto is_zero = hn::Eq(r, zero);
  const auto moved = hn::IfThenElse(differs, hn::Add(r, y), r);
  return hn::IfThenElse(is_zero, hn::And(y, hn::SignBit(d)), moved);
}

template <class D>
concept HasModulusTag = requires(D d, Value<D> v) {
  ModulusTruncate(d, v, v);
};

template <FloatTag D>
requires HasModulusTag<D> HWY_INLINE hn::Vec<D> ModulusFloor(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return OnSideOf(d, y, ModulusTruncate(d, x, y));
}

// FLOAT16: the sum of two of them has at most two roundings, of which the first decides nothing.
template <HalfInFloatTag D>
HWY_INLINE Value<D> ModulusFloor(D d, Value<D> x, Value<D> y) {
  const hn::Rebind<float, D> df;
  const auto rest = PromoteHalf(df, ModulusTruncate(d, x, y));
  return DemoteHalf(df, OnSideOf(df, PromoteHalf(df, y), rest));
}

template <IntegerTag D>
requires HasModulusTag<D> HWY_INLINE hn::Vec<D> ModulusFloor(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto rest = ModulusTruncate(d, x, y);
  if constexpr (std::is_signed_v<hn::TFromD<D>>) {
    const auto zero = hn::Zero(d);
    const auto differs = hn::And(hn::Lt(hn::Xor(rest, y), zero), hn::Ne(rest, zero));
    const auto moved = hn::IfThenElse(differs, hn::Add(rest, y), rest);
    const auto by_zero = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, 1), hn::Set(d, -1));
    return hn::IfThenElse(hn::Eq(y, zero), by_zero, moved);
  } else {
    return rest;
  }
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ROUNDING_INL_H_
