// Results that are no rational numbers, rounded once. Included once per target.
//
// A function is computed fast, in FLOAT64 lanes with an error that is known. Where all numbers
// within it round to the same element, that is the result. Few elements in a million are left, next
// to a middle between two elements; kernels/cpu/slow decides them with twice the digits.
//
// FLOAT16 elements have so few digits that FLOAT32 lanes decide nearly all of them, where a
// function serves these too; one in some hundreds is left for the FLOAT64 lanes. Likewise for
// FLOAT32 elements, where a function serves pairs of FLOAT32 lanes.

#if defined(OPSERVE_KERNELS_CPU_BODIES_DECIDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_DECIDED_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_DECIDED_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_DECIDED_INL_H_
#endif

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/float_pairs-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/cpu/slow/double_double.h"
#include "kernels/cpu/slow/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Both ways to compute a function of elements, which come widened:
//
//   Fast(D, Vec<D>...)   in FLOAT64 lanes, with a relative error below 2^-kErrorBits; perhaps in
//                        FLOAT32 lanes too, of FLOAT16 elements, with one below kShortError
//   Slow(double...)      a slow::DoubleDouble; asked where Fast gives a number that is not zero
//   parameters()         what both depend on beside the elements: a std::array<double, 2>
//
// Where exact results are frequent, and so those in the middle between two elements:
//
//   IsExact(D, Vec<D>)   in which lanes Fast has no error
template <class F>
concept Decidable = requires {
  F::kErrorBits;
};

template <class F>
inline constexpr char kIdentityOf = 0;

// What is known of the results of a function in FLOAT32, zero aside.
template <class F>
inline constexpr NarrowedKind kResultsOf = NarrowedKind::kAny;

// Slow of lane `i` of all inputs, rounded to odd.
template <class F, size_t kLanes, size_t... kInput>
double SlowAt(const F& function, const double (&inputs)[sizeof...(kInput)][kLanes], size_t i,
              std::index_sequence<kInput...>) {
  return slow::Remembered({&kIdentityOf<F>, function.parameters(), {inputs[kInput][i]...}},
                          [&] { return slow::RoundedToOdd(function.Slow(inputs[kInput][i]...)); });
}

// `result` of Fast, with those lanes replaced that lie so near to a middle between two elements
// that numbers within the error round apart.
template <FloatOrHalfInDoubleTag D, Decidable F, class... V>
HWY_NOINLINE hn::Vec<hn::Rebind<double, D>> Settled(D d, const F& function,
                                                    hn::Vec<hn::Rebind<double, D>> result,
                                                    V... wide) {
  const hn::Rebind<double, D> dd;
  const BitsTag<D> du;
  using Bits = hn::TFromD<BitsTag<D>>;
  const auto error = hn::Mul(hn::Abs(result), hn::Set(dd, std::ldexp(1.0, -F::kErrorBits)));
  HWY_ALIGN Bits below[MaxLanes(D())];
  HWY_ALIGN Bits above[MaxLanes(D())];
  HWY_ALIGN double results[MaxLanes(D())];
  HWY_ALIGN double inputs[sizeof...(V)][MaxLanes(D())];
  hn::Store(hn::BitCast(du, Narrowed(d, hn::Sub(result, error))), du, below);
  hn::Store(hn::BitCast(du, Narrowed(d, hn::Add(result, error))), du, above);
  hn::Store(result, dd, results);
  size_t input = 0;
  (hn::Store(wide, dd, inputs[input++]), ...);
  for (size_t i = 0; i < Lanes(d); ++i) {
    if (below[i] == above[i] || results[i] == 0 || !std::isfinite(results[i])) continue;
    results[i] = SlowAt(function, inputs, i, std::make_index_sequence<sizeof...(V)>());
  }
  return hn::Load(dd, results);
}

// An input that comes widened.
template <FloatOrHalfInDoubleTag D>
HWY_INLINE hn::Vec<hn::Rebind<double, D>> Widened(D /*tag*/, hn::Vec<hn::Rebind<double, D>> x) {
  return x;
}

// The function of elements, rounded once.
template <FloatOrHalfInDoubleTag D, Decidable F, class... V>
HWY_INLINE Value<D> Decided(D d, const F& function, V... x) {
  // An error of 2^-53 is half a unit in the last place, or nearly a whole one.
  constexpr int kLogUlps = 53 - F::kErrorBits + 1;
  constexpr NarrowedKind kKind = kIsHalf<D> ? NarrowedKind::kAny : kResultsOf<F>;
  const hn::Rebind<double, D> dd;
  auto result = function.Fast(dd, Widened(d, x)...);
  auto inexact = result;
  if constexpr (requires { function.IsExact(dd, Widened(d, x)...); }) {
    inexact = hn::IfThenZeroElse(function.IsExact(dd, Widened(d, x)...), result);
  }
  if (HWY_UNLIKELY((!NarrowSafely<kLogUlps, kKind>(d, inexact)))) {
    result = Settled(d, function, result, Widened(d, x)...);
  }
  return Narrowed(d, result);
}

// ------------------------------------------------------------------ FLOAT16 by FLOAT32 lanes

// The relative error of functions of FLOAT32 lanes, together with that of a product with a number
// next to 1.
inline constexpr float kShortError = 0x1p-21f;

// As many halves as FLOAT32 lanes fill a vector, and FLOAT64 lanes more than one.
template <class D>
concept HalfBeyondDoubleTag = HalfInFloatTag<D> && !FitsAs<D, double>;

// What functions take that serve both kinds of lanes.
template <class D>
concept FunctionTag = FloatOrHalfInDoubleTag<D> || HalfBeyondDoubleTag<D>;

// A function with parameters may serve them only for some: then ServesFloats() tells.
template <class F, class D>
concept DecidableInFloats = HalfBeyondDoubleTag<D> &&
    requires(const F& function, hn::Rebind<float, D> df, hn::Vec<hn::Rebind<float, D>> x) {
  function.Fast(df, x);
};

// The function of elements by FLOAT64 lanes, which hold a part of them at a time.
template <class D, Decidable F>
HWY_NOINLINE Value<D> DecidedInParts(D /*tag*/, const F& function, Value<D> x) {
  const ValueTag<D> lanes;
  const hn::Rebind<hn::TFromD<D>, hn::ScalableTag<double>> part;
  const ValueTag<decltype(part)> part_lanes;
  HWY_ALIGN hn::TFromD<ValueTag<D>> elements[MaxLanes(D())];
  hn::Store(x, lanes, elements);
  for (size_t i = 0; i < MaxLanes(D()); i += MaxLanes(part)) {
    const auto result = Decided(part, function, hn::LoadU(part_lanes, elements + i));
    hn::StoreU(result, part_lanes, elements + i);
  }
  return hn::Load(lanes, elements);
}

template <class D, DecidableInFloats<D> F>
HWY_INLINE Value<D> Decided(D d, const F& function, Value<D> x) {
  if constexpr (requires { function.ServesFloats(); }) {
    if (!function.ServesFloats()) return DecidedInParts(d, function, x);
  }
  const hn::Rebind<float, D> df;
  const auto wide = PromoteHalf(df, x);
  const auto result = function.Fast(df, wide);
  auto below = hn::Set(df, 1 - kShortError);
  auto above = hn::Set(df, 1 + kShortError);
  if constexpr (requires { function.IsExact(df, wide); }) {
    const auto is_exact = function.IsExact(df, wide);
    below = hn::IfThenElse(is_exact, hn::Set(df, 1), below);
    above = hn::IfThenElse(is_exact, hn::Set(df, 1), above);
  }
  const auto least = DemoteHalf(df, hn::Mul(result, below));
  const auto most = DemoteHalf(df, hn::Mul(result, above));
  if (HWY_LIKELY(hn::AllTrue(BitsTag<D>(), hn::Eq(least, most)))) return least;
  return DecidedInParts(d, function, x);
}

// ------------------------------------------------------------------ FLOAT32 by pairs of lanes

// Likewise for some parameters alone: then ServesPairs() tells.
template <class F, class D>
concept DecidableInPairs = FullFloatTag<D> && requires(const F& function, D d, hn::Vec<D> x) {
  function.InPairs(d, x);
};

// The function of elements, of which those that are decided have `result`. What is beyond the range
// of pairs is often so far beyond that a limit is all there is; the rest takes FLOAT64 lanes.
template <class D, DecidableInPairs<D> F>
HWY_NOINLINE hn::Vec<D> DecidedBeyondPairs(D d, const F& function, hn::Vec<D> x, hn::Vec<D> result,
                                           hn::Mask<D> is_decided) {
  if constexpr (requires { function.Limits(d, x); }) {
    const PairLimits<D> limits = function.Limits(d, x);
    if (hn::AllTrue(d, hn::Or(is_decided, limits.are_reached))) {
      return hn::IfThenElse(limits.are_reached, limits.values, result);
    }
  }
  return DecidedInParts(d, function, x);
}

template <class D, DecidableInPairs<D> F>
HWY_INLINE hn::Vec<D> Decided(D d, const F& function, hn::Vec<D> x) {
  if constexpr (requires { function.ServesPairs(); }) {
    if (!function.ServesPairs()) return DecidedInParts(d, function, x);
  }
  const PairResult<D> result = function.InPairs(d, x);
  const auto least = hn::Add(result.sum.high, hn::Sub(result.sum.low, result.error));
  const auto most = hn::Add(result.sum.high, hn::Add(result.sum.low, result.error));
  const auto is_decided = hn::And(hn::Eq(least, most), result.is_known);
  if (HWY_LIKELY(hn::AllTrue(d, is_decided))) return least;
  return DecidedBeyondPairs(d, function, x, least, is_decided);
}

// ------------------------------------------------------------------ Functions of one number

// NAME of elements, by FUNCTION##Of of FLOAT64 lanes, and of FLOAT32 lanes where there is one,
// FUNCTION##InPairs and FUNCTION##Limits where there are such, and slow::FUNCTION.
#undef OPSERVE_DECIDED_FUNCTION
#define OPSERVE_DECIDED_FUNCTION(NAME, FUNCTION)                                            \
  struct FUNCTION##Function {                                                               \
    static constexpr int kErrorBits = 46;                                                   \
    std::array<double, 2> parameters() const { return {}; }                                 \
    template <FloatTag D>                                                                   \
    HWY_INLINE auto Fast(D d, hn::Vec<D> x) const -> decltype(FUNCTION##Of(d, x)) {         \
      return FUNCTION##Of(d, x);                                                            \
    }                                                                                       \
    template <FullFloatTag D>                                                               \
    HWY_INLINE auto InPairs(D d, hn::Vec<D> x) const -> decltype(FUNCTION##InPairs(d, x)) { \
      return FUNCTION##InPairs(d, x);                                                       \
    }                                                                                       \
    template <FullFloatTag D>                                                               \
    HWY_INLINE auto Limits(D d, hn::Vec<D> x) const -> decltype(FUNCTION##Limits(d, x)) {   \
      return FUNCTION##Limits(d, x);                                                        \
    }                                                                                       \
    slow::DoubleDouble Slow(double x) const { return slow::FUNCTION(x); }                   \
  };                                                                                        \
  template <class D>                                                                        \
  requires FloatOrHalfInDoubleTag<D> || DecidableInFloats<FUNCTION##Function, D> ||         \
      DecidableInPairs<FUNCTION##Function, D>                                               \
          HWY_INLINE Value<D> NAME(D d, Value<D> x) {                                       \
    return Decided(d, FUNCTION##Function(), x);                                             \
  }

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_DECIDED_INL_H_
