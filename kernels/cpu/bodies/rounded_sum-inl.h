// Exact sums and products of FLOAT64 lanes, rounded once to a narrower type. Included once per
// target.
//
// Rounding a double to FLOAT32 that was itself rounded rounds twice. Rounding to odd first does no
// harm: an inexact sum becomes the one of its two neighbours whose last bit is set, which lies on
// the same side of every FLOAT32 and of every middle between two of them.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ROUNDED_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ROUNDED_SUM_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ROUNDED_SUM_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ROUNDED_SUM_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <class D>
concept DoubleTag = std::same_as < hn::TFromD<D>,
double > ;
template <class D>
concept HalfInDoubleTag = kIsHalf<D> && FitsAs<D, double>;
template <class D>
concept FloatOrHalfInDoubleTag = FloatInDoubleTag<D> || HalfInDoubleTag<D>;

// ------------------------------------------------------------------ Exact sums and products

// value + error is exact.
template <class D>
struct Exact {
  hn::Vec<D> value;
  hn::Vec<D> error;
};

template <DoubleTag D>
HWY_INLINE Exact<D> ExactSum(D /*tag*/, hn::Vec<D> a, hn::Vec<D> b) {
  const auto sum = hn::Add(a, b);
  const auto b_part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part))};
}

// The upper half of the digits of x, rounded, so that the rest has no more than the other half.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> UpperDigits(D d, hn::Vec<D> x) {
  const auto shifted = hn::Mul(x, hn::Set(d, 0x1p27 + 1));
  return hn::Sub(shifted, hn::Sub(shifted, x));
}

template <DoubleTag D>
HWY_INLINE Exact<D> ExactProduct([[maybe_unused]] D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto product = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  return {product, hn::MulSub(a, b, product)};
#else
  const auto a_upper = UpperDigits(d, a);
  const auto b_upper = UpperDigits(d, b);
  const auto a_lower = hn::Sub(a, a_upper);
  const auto b_lower = hn::Sub(b, b_upper);
  auto error = hn::Sub(hn::Mul(a_upper, b_upper), product);
  error = hn::Add(error, hn::Mul(a_upper, b_lower));
  error = hn::Add(error, hn::Mul(a_lower, b_upper));
  return {product, hn::Add(error, hn::Mul(a_lower, b_lower))};
#endif
}

// ------------------------------------------------------------------ Rounding to odd

// value + error rounded to odd, where the value is the nearest number, or any one less than a unit
// in the last place away. Infinities and NaNs, whose error is not a number, stay.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> RoundedToOdd(D d, const Exact<D>& sum) {
  const BitsTag<D> du;
  const auto one_if_inexact = hn::IfThenElseZero(
      hn::RebindMask(du, hn::Gt(hn::Abs(sum.error), hn::Zero(d))), hn::Set(du, uint64_t{1}));
  // Truncates: one down where the error takes off from the magnitude.
  const auto differs = hn::ShiftRight<63>(hn::BitCast(du, hn::Xor(sum.value, sum.error)));
  const auto truncated = hn::Sub(hn::BitCast(du, sum.value), hn::And(one_if_inexact, differs));
  return hn::BitCast(d, hn::Or(truncated, one_if_inexact));
}

template <DoubleTag D>
HWY_INLINE hn::Vec<D> SumRoundedToOdd(D d, hn::Vec<D> a, hn::Vec<D> b) {
  return RoundedToOdd(d, ExactSum(d, a, b));
}

// The same of a + b + c, where c is at most about a unit in the last place of a: the inner sum has
// digits far below those that a middle between two shorter numbers could need.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> SumRoundedToOdd(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
  const Exact<D> sum = ExactSum(d, a, b);
  const auto rest = SumRoundedToOdd(d, sum.error, c);
  // Infinities have no error.
  return SumRoundedToOdd(d, sum.value, hn::IfThenElseZero(hn::Eq(rest, rest), rest));
}

// x - q * y, where q is the quotient of x and y rounded to nearest: exact.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> RestOfQuotient([[maybe_unused]] D d, hn::Vec<D> x, hn::Vec<D> y,
                                     hn::Vec<D> q) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(q, y, x);
#else
  const Exact<D> product = ExactProduct(d, q, y);
  return hn::Sub(hn::Sub(x, product.value), product.error);
#endif
}

// ------------------------------------------------------------------ Elements in FLOAT64 lanes

// Rounds doubles once to FLOAT32. Highway's targets without vectors never give infinities.
template <class D>
HWY_INLINE hn::Vec<D> NarrowToFloat(D d, hn::Vec<hn::Rebind<double, D>> v) {
  if constexpr (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128) {
    const hn::Rebind<double, D> dd;
    HWY_ALIGN double wide[MaxLanes(D())];
    HWY_ALIGN float narrow[MaxLanes(D())];
    hn::Store(v, dd, wide);
    for (size_t i = 0; i < Lanes(d); ++i) narrow[i] = static_cast<float>(wide[i]);
    return hn::Load(d, narrow);
  } else {
    return hn::DemoteTo(d, v);
  }
}

template <FloatInDoubleTag D>
HWY_INLINE hn::Vec<hn::Rebind<double, D>> Widened(D /*tag*/, hn::Vec<D> x) {
  return hn::PromoteTo(hn::Rebind<double, D>(), x);
}

template <HalfInDoubleTag D>
HWY_INLINE hn::Vec<hn::Rebind<double, D>> Widened(D /*tag*/, Value<D> x) {
  return hn::PromoteTo(hn::Rebind<double, D>(), PromoteHalf(hn::Rebind<float, D>(), x));
}

// Rounds doubles once to the element type of D.
template <FloatInDoubleTag D>
HWY_INLINE hn::Vec<D> Narrowed(D d, hn::Vec<hn::Rebind<double, D>> v) {
  return NarrowToFloat(d, v);
}

// By way of FLOAT32, to odd: the digits that go leave a one behind.
template <HalfInDoubleTag D>
HWY_INLINE Value<D> Narrowed(D /*tag*/, hn::Vec<hn::Rebind<double, D>> v) {
  const hn::Rebind<float, D> df;
  const hn::Rebind<double, D> dd;
  const BitsTag<decltype(dd)> du;
  const auto dropped = hn::Set(du, uint64_t{0x1FFFFFFF});
  const auto bits = hn::BitCast(du, v);
  const auto carry = hn::Add(hn::And(bits, dropped), dropped);
  const auto odd = hn::AndNot(dropped, hn::Or(bits, carry));
  return DemoteHalf(df, NarrowToFloat(df, hn::BitCast(dd, odd)));
}

// What is known of numbers before they are narrowed: that they are zero, or normal ones of the
// narrower type or larger, that none is below zero, or nothing.
enum class NarrowedKind { kNormal, kMagnitude, kAny };

// Numbers whose digits beyond those of the element type are the distance from the number of that
// type below. Its denormal numbers lie as far apart as those from the least normal one up to twice
// that: so there the least one is added.
template <NarrowedKind kKind, FloatOrHalfInDoubleTag D>
HWY_INLINE hn::Vec<hn::Rebind<double, D>> AsNormal(D /*tag*/, hn::Vec<hn::Rebind<double, D>> v) {
  const hn::Rebind<double, D> dd;
  if constexpr (kKind == NarrowedKind::kNormal) return v;
  if constexpr (kKind == NarrowedKind::kAny) v = hn::Abs(v);
  const auto least = hn::Set(dd, kIsHalf<D> ? 0x1p-14 : 0x1p-126);
  const auto is_small = hn::Lt(v, least);
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (MaxLanes(hn::Rebind<double, D>()) == 8) {
    return hn::Vec<decltype(dd)>{_mm512_mask_add_pd(v.raw, is_small.raw, v.raw, least.raw)};
  }
#endif
  return hn::Add(v, hn::IfThenElseZero(is_small, least));
}

// Whether doubles with errors of less than 2^kLogUlps units in the last place narrow as the exact
// numbers do: none is that near to a middle between two numbers of the narrower type.
template <int kLogUlps = 2, NarrowedKind kKind = NarrowedKind::kAny, FloatOrHalfInDoubleTag D>
HWY_INLINE bool NarrowSafely(D d, hn::Vec<hn::Rebind<double, D>> v) {
  const BitsTag<hn::Rebind<double, D>> du;
  constexpr uint64_t kMiddle = uint64_t{1} << (kIsHalf<D> ? 41 : 28);
  constexpr uint64_t kUlps = uint64_t{1} << kLogUlps;
  const auto bits = hn::BitCast(du, AsNormal<kKind>(d, v));
  const auto from_middle = hn::Sub(bits, hn::Set(du, kMiddle - kUlps));
  // Zero next to a middle.
  const auto distance = hn::Set(du, (2 * kMiddle - 1) & ~(2 * kUlps - 1));
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (MaxLanes(BitsTag<hn::Rebind<double, D>>()) == 8) {
    return _mm512_test_epi64_mask(from_middle.raw, distance.raw) == 0xFF;
  }
#endif
  return hn::AllFalse(du, hn::Eq(hn::And(from_middle, distance), hn::Zero(du)));
}

// ------------------------------------------------------------------ x * a + b

// Rounded once.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> MultipliedAndAdded(D d, Value<D> x, float a, float b) {
  const hn::Rebind<double, D> dd;
  // 24 digits by 24: exact.
  const auto product = hn::Mul(Widened(d, x), hn::Set(dd, a));
  return Narrowed(d, SumRoundedToOdd(dd, product, hn::Set(dd, b)));
}

#if HWY_NATIVE_FMA
template <FullFloatTag D>
HWY_INLINE hn::Vec<D> MultipliedAndAdded(D d, hn::Vec<D> x, float a, float b) {
  return hn::MulAdd(x, hn::Set(d, a), hn::Set(d, b));
}
#endif

template <class D>
concept HasMultipliedAndAdded = requires(D d, Value<D> v) {
  MultipliedAndAdded(d, v, 1.0f, 1.0f);
};

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ROUNDED_SUM_INL_H_
