// Bodies of arithmetic. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ARITHMETIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ARITHMETIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ARITHMETIC_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/rounding-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Where bodies take floats alone, FLOAT16 is computed in FLOAT32 lanes: those have more than twice
// the digits, so that the second rounding of + - * / and the square root changes nothing.

// ------------------------------------------------------------------ ADD, SUBTRACT, MULTIPLY

template <NumberTag D>
HWY_INLINE hn::Vec<D> Added(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Add(x, y);
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> Subtracted(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Sub(x, y);
}

template <NumberTag D>
HWY_INLINE hn::Vec<D> Multiplied([[maybe_unused]] D d, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (!IntTag<D, 1> || HWY_TARGET == HWY_SCALAR) {
    return hn::Mul(x, y);
  } else {
    // Elements of 8 bits in pairs: the low byte of a product depends on the low bytes alone.
    const hn::RepartitionToWide<BitsTag<D>> dw;
    const auto x_pairs = hn::BitCast(dw, x);
    const auto y_pairs = hn::BitCast(dw, y);
    const auto even = hn::Mul(x_pairs, y_pairs);
    const auto odd = hn::Mul(hn::ShiftRight<8>(x_pairs), hn::ShiftRight<8>(y_pairs));
    const auto low_byte = hn::Set(dw, uint16_t{0xFF});
    return hn::BitCast(d, hn::Or(hn::And(even, low_byte), hn::ShiftLeft<8>(odd)));
  }
}

// ------------------------------------------------------------------ DIVIDE

template <FloatTag D>
HWY_INLINE hn::Vec<D> Divided(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Div(x, y);
}

// Quotients by zero: all ones where unsigned, else -1, or 1 of negative numbers.
template <IntegerTag D>
HWY_INLINE hn::Vec<D> FixQuotientByZero(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> q) {
  using T = hn::TFromD<D>;
  const auto zero = hn::Zero(d);
  auto by_zero = hn::Set(d, static_cast<T>(-1));
  if constexpr (std::signed_integral<T>) {
    by_zero = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, T{1}), by_zero);
  }
  return hn::IfThenElse(hn::Eq(y, zero), by_zero, q);
}

// Quotients by -1: the least number is its own negative.
template <IntegerTag D>
HWY_INLINE hn::Vec<D> FixQuotientByMinusOne(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> q) {
  using T = hn::TFromD<D>;
  if constexpr (std::signed_integral<T>) {
    const auto is_minus_one = hn::Eq(y, hn::Set(d, static_cast<T>(-1)));
    return hn::IfThenElse(is_minus_one, hn::Sub(hn::Zero(d), x), q);
  } else {
    return q;
  }
}

template <IntegerTag D>
HWY_INLINE hn::Vec<D> OneInPlaceOfZero(D d, hn::Vec<D> y) {
  return hn::IfThenElse(hn::Eq(y, hn::Zero(d)), hn::Set(d, 1), y);
}

template <class D>
concept SmallIntInFloatTag = (IntTag<D, 1> || IntTag<D, 2>)&&FitsAs<D, float>;

// Integers that are exact in wider float lanes, with room for quotients: division never rounds a
// quotient up to the next integer. 8 and 16 bits, in FLOAT32 lanes.
template <SmallIntInFloatTag D>
HWY_INLINE hn::Vec<D> Divided(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<int32_t, D> di;
  const hn::Rebind<float, D> df;
  const auto dividend = hn::ConvertTo(df, hn::PromoteTo(di, x));
  const auto divisor = hn::ConvertTo(df, hn::PromoteTo(di, OneInPlaceOfZero(d, y)));
  const auto q = hn::DemoteTo(d, hn::ConvertTo(di, hn::Div(dividend, divisor)));
  return FixQuotientByZero(d, x, y, FixQuotientByMinusOne(d, x, y, q));
}

// 32 bits, in FLOAT64 lanes.
template <Int32InDoubleTag D>
HWY_INLINE hn::Vec<D> Divided(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<double, D> dd;
  const auto divisor = ToDouble(dd, OneInPlaceOfZero(d, y));
  const auto q = FromDouble(d, dd, TowardZero(dd, hn::Div(ToDouble(dd, x), divisor)));
  return FixQuotientByZero(d, x, y, FixQuotientByMinusOne(d, x, y, q));
}

#if OPSERVE_HAVE_BIT_MASKS
// x / y of unsigned 64-bit lanes; anything for a divisor of zero. Estimates as RemainderByInverse
// does: two of them leave less than twice y.
template <class D>
HWY_INLINE hn::Vec<D> QuotientByInverse(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<double, D> dd;
  const hn::Vec<decltype(dd)> divisor{_mm512_cvtepu64_pd(y.raw)};
  const auto inverse = hn::Div(hn::Set(dd, 1.0 - 0x1p-50), divisor);
  auto q = hn::Zero(d);
  for (int step = 0; step < 2; ++step) {
    const __m512d estimate = _mm512_mul_pd(_mm512_cvtepu64_pd(x.raw), inverse.raw);
    const hn::Vec<D> whole{_mm512_cvttpd_epu64(estimate)};
    q = hn::Add(q, whole);
    x = hn::Sub(x, hn::Mul(whole, y));
  }
  return hn::Sub(q, hn::IfThenZeroElse(hn::Gt(y, x), hn::Set(d, ~uint64_t{0})));
}

// 64 bits, by quotients that FLOAT64 lanes estimate.
template <IntTag<8> D>
HWY_INLINE hn::Vec<D> Divided(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const BitsTag<D> du;
  if constexpr (std::signed_integral<hn::TFromD<D>>) {
    // Also right for the least number, whose magnitude is unsigned.
    const auto q = QuotientByInverse(du, hn::BitCast(du, hn::Abs(x)), hn::BitCast(du, hn::Abs(y)));
    const auto sign = hn::BroadcastSignBit(hn::Xor(x, y));
    return FixQuotientByZero(d, x, y, hn::Sub(hn::Xor(hn::BitCast(d, q), sign), sign));
  } else {
    return FixQuotientByZero(d, x, y, QuotientByInverse(d, x, y));
  }
}
#else
// One pair of 64-bit integers.
template <class T>
HWY_INLINE T QuotientOf(T x, T y) {
  if (y == 0) return static_cast<T>(std::unsigned_integral<T> || x >= 0 ? -1 : 1);
  if constexpr (std::signed_integral<T>) {
    // The least number over -1 traps.
    if (y == -1) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  }
  // Short operands divide faster on many processors.
  if (((static_cast<uint64_t>(x) | static_cast<uint64_t>(y)) >> 32) == 0) {
    return static_cast<T>(static_cast<uint32_t>(x) / static_cast<uint32_t>(y));
  }
  return x / y;
}

// 64 bits, one by one: without instructions to convert them, vectors are no faster.
template <IntTag<8> D>
HWY_INLINE hn::Vec<D> Divided(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T xs[MaxLanes(D())];
  HWY_ALIGN T ys[MaxLanes(D())];
  hn::Store(x, d, xs);
  hn::Store(y, d, ys);
  for (size_t i = 0; i < Lanes(d); ++i) xs[i] = QuotientOf(xs[i], ys[i]);
  return hn::Load(d, xs);
}
#endif  // OPSERVE_HAVE_BIT_MASKS

// ------------------------------------------------------------------ RECIP, SQRT

template <FloatTag D>
HWY_INLINE hn::Vec<D> Reciprocal(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1), x);
}

template <FloatTag D>
HWY_INLINE hn::Vec<D> SquareRoot(D /*tag*/, hn::Vec<D> x) {
  return hn::Sqrt(x);
}

// ------------------------------------------------------------------ MEAN

// Either the sum is exact or its half is: rounded once. A sum that overflows is one of numbers
// whose halves are exact, or of a far larger one.
template <FloatTag D>
HWY_INLINE hn::Vec<D> Mean(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto half = hn::Set(d, hn::TFromD<D>(0.5));
  const auto sum = hn::Add(x, y);
  const auto of_halves = hn::Add(hn::Mul(x, half), hn::Mul(y, half));
  return hn::IfThenElse(hn::Eq(hn::Abs(sum), hn::Inf(d)), of_halves, hn::Mul(sum, half));
}

// What both have, and half of what one has: the half rounded down, below zero then up.
template <IntTag<4> D>
HWY_INLINE hn::Vec<D> Mean(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto differing = hn::Xor(x, y);
  const auto down = hn::Add(hn::And(x, y), hn::ShiftRight<1>(differing));
  if constexpr (std::signed_integral<hn::TFromD<D>>) {
    const auto is_rounded = hn::And(differing, hn::Set(d, 1));
    return hn::Add(down, hn::And(is_rounded, hn::BroadcastSignBit(down)));
  } else {
    return down;
  }
}

// ------------------------------------------------------------------ DIFFERENCE_SQUARE

template <IntTag<4> D>
HWY_INLINE hn::Vec<D> DifferenceSquared(D /*tag*/, hn::Vec<D> x, hn::Vec<D> y) {
  const auto difference = hn::Sub(x, y);
  return hn::Mul(difference, difference);
}

// (x - y)^2 where the difference has more digits than a double: one of them is far larger, and the
// sum of the three exact products x^2 - 2xy + y^2 is rounded to odd twice.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> SquaredApart(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto x_square = hn::Mul(x, x);
  const auto y_square = hn::Mul(y, y);
  const auto middle = hn::Mul(hn::Mul(x, hn::Set(d, -2)), y);
  const auto rest = SumRoundedToOdd(d, middle, hn::Min(x_square, y_square));
  return SumRoundedToOdd(d, hn::Max(x_square, y_square), rest);
}

template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> DifferenceSquared(D d, Value<D> x, Value<D> y) {
  const hn::Rebind<double, D> dd;
  const auto wide_x = Widened(d, x);
  const auto wide_y = Widened(d, y);
  const auto difference = ExactSum(dd, wide_x, hn::Neg(wide_y));
  auto square = RoundedToOdd(dd, ExactProduct(dd, difference.value, difference.value));
  // Differences of FLOAT16 are exact.
  if constexpr (!kIsHalf<D>) {
    const auto is_inexact = hn::Gt(hn::Abs(difference.error), hn::Zero(dd));
    if (HWY_UNLIKELY(!hn::AllFalse(dd, is_inexact))) {
      square = hn::IfThenElse(is_inexact, SquaredApart(dd, wide_x, wide_y), square);
    }
  }
  return Narrowed(d, square);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ARITHMETIC_INL_H_
