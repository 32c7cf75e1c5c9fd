// Bodies of moves, signs and bits. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_MOVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_MOVES_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_MOVES_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_MOVES_INL_H_
#endif

#include <concepts>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ ABS, NEGATE

// The sign bit of a float type.
template <class D>
HWY_INLINE hn::Vec<BitsTag<D>> SignBits(D /*tag*/) {
  using TBits = hn::TFromD<BitsTag<D>>;
  return hn::Set(BitsTag<D>(), static_cast<TBits>(TBits{1} << (sizeof(TBits) * 8 - 1)));
}

// Floats on their bits, so that NaNs stay as they are.
template <FloatOrHalfTag D>
HWY_INLINE Value<D> Magnitude(D d, Value<D> x) {
  const BitsTag<D> du;
  return hn::BitCast(ValueTag<D>(), hn::AndNot(SignBits(d), hn::BitCast(du, x)));
}

template <FloatOrHalfTag D>
HWY_INLINE Value<D> Negated(D d, Value<D> x) {
  const BitsTag<D> du;
  return hn::BitCast(ValueTag<D>(), hn::Xor(SignBits(d), hn::BitCast(du, x)));
}

template <SignedIntTag D>
HWY_INLINE hn::Vec<D> Negated(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) < 4) {
    return hn::SaturatedSub(hn::Zero(d), x);
  } else {
    return hn::Sub(hn::Zero(d), x);
  }
}

template <SignedIntTag D>
HWY_INLINE hn::Vec<D> Magnitude(D d, hn::Vec<D> x) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), Negated(d, x), x);
}

// ------------------------------------------------------------------ Shifts

// Elements of 8 and 16 bits in words of 32, of which the low bits are the result.
template <class D>
concept ShortInWordTag =
    (IntTag<D, 1> || IntTag<D, 2>)&&std::unsigned_integral<hn::TFromD<D>>&& FitsAs<D, uint32_t>;

template <ShortInWordTag D>
HWY_INLINE hn::Vec<D> LowBits(D d, hn::Vec<hn::Rebind<uint32_t, D>> words) {
  const hn::Rebind<uint32_t, D> du32;
  const hn::Rebind<int32_t, D> di32;
  constexpr uint32_t kMask = (uint32_t{1} << (8 * sizeof(hn::TFromD<D>))) - 1;
  return hn::DemoteTo(d, hn::BitCast(di32, hn::And(words, hn::Set(du32, kMask))));
}

template <class D>
requires(IntTag<D, 4> || IntTag<D, 8>) HWY_INLINE hn::Vec<D> ShiftedLeft(D d, hn::Vec<D> x,
                                                                         hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  return hn::Shl(x, hn::And(y, hn::Set(d, static_cast<T>(sizeof(T) * 8 - 1))));
}

template <ShortInWordTag D>
HWY_INLINE hn::Vec<D> ShiftedLeft(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<uint32_t, D> du32;
  return LowBits(d, ShiftedLeft(du32, hn::PromoteTo(du32, x), hn::PromoteTo(du32, y)));
}

template <class D>
requires(IntTag<D, 4> || IntTag<D, 8>) HWY_INLINE hn::Vec<D> ShiftedRight(D d, hn::Vec<D> x,
                                                                          hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  return hn::Shr(x, hn::And(y, hn::Set(d, static_cast<T>(sizeof(T) * 8 - 1))));
}

template <ShortInWordTag D>
HWY_INLINE hn::Vec<D> ShiftedRight(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::Rebind<uint32_t, D> du32;
  return LowBits(d, ShiftedRight(du32, hn::PromoteTo(du32, x), hn::PromoteTo(du32, y)));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_MOVES_INL_H_
