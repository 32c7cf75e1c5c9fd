// Rows of SOFTMAX, LOG_SOFTMAX and HARDMAX: every result is one exact number of its whole row,
// rounded once. Included once per target.
//
// With M the largest element, d = x - M and S the sum of all e^d, which is at least 1,
//
//   SOFTMAX = e^d / S      LOG_SOFTMAX = d - ln S
//
// where d and -ln S are never of unlike signs: nothing cancels. For the logarithm, S is kept as the
// number of elements that equal M and the sum of the others, as ln S is no larger than that where
// the number is 1. Both are computed in FLOAT64 lanes with a relative error below kRowError. Of the
// few elements for which that is too much, a part is decided by an exact e^d or d and the sum there
// is; those that are left need the sum of their row again, in pairs of doubles, once.
//
// No order of the row shows: what is decided is decided by the exact number.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/packed_row-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/row_sums-inl.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/cpu/slow/double_double.h"
#include "kernels/cpu/slow/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Results of a row

// Of the results that are computed fast, see the functions for theirs.
inline constexpr double kRowError = 0x1p-46;
inline constexpr int kLogRowUlps = 7;

// The result of one element, rounded to odd, from two bounds of it; NaN where they round apart.
template <class T>
double DecidedBetween(const slow::DoubleDouble& nearer, const slow::DoubleDouble& farther) {
  const InDoubleTag<T> d;
  const hn::ScalableTag<double> dd;
  const BitsTag<decltype(d)> du;
  const double result = slow::RoundedToOdd(nearer);
  const auto bits_of = [&](double x)
                           HWY_ATTR { return hn::BitCast(du, Narrowed(d, hn::Set(dd, x))); };
  const bool are_same =
      hn::AllTrue(du, hn::Eq(bits_of(result), bits_of(slow::RoundedToOdd(farther))));
  return are_same ? result : std::numeric_limits<double>::quiet_NaN();
}

// What both functions have: a row of finite elements and minus infinities.
template <class T>
class RowFunction {
 public:
  RowFunction(const PackedRow<T>& row, double maximum) : row_(row), maximum_(maximum) {}

  double maximum() const { return maximum_; }

 protected:
  slow::DoubleDouble Difference(double x) const { return slow::ExactSum(x, -maximum_); }

  // In pairs; computed where it is first needed.
  const RowSum& slow_sum() {
    if (!slow_sum_) slow_sum_ = AtLeastTiny(SlowSumOfRow(row_, maximum_));
    return *slow_sum_;
  }

  // Below any number that rounds to something, all that matters is whether the sum is zero.
  RowSum AtLeastTiny(RowSum sum) const {
    constexpr double kTiny = 0x1p-300;
    if (sum.rest.high < kTiny) sum.rest = HasOthers() ? kTiny : 0;
    return sum;
  }

 private:
  // Whether finite elements differ.
  bool HasOthers() const {
    const InDoubleTag<T> d;
    const hn::ScalableTag<double> dd;
    for (size_t i = 0; i < row_.count; i += Lanes(d)) {
      const auto x = Widened(d, LoadOfRow(d, row_, i));
      const auto is_other =
          hn::And(hn::Lt(x, hn::Set(dd, maximum_)), hn::Gt(x, hn::Neg(hn::Inf(dd))));
      if (!hn::AllFalse(dd, is_other)) return true;
    }
    return false;
  }

  PackedRow<T> row_;
  double maximum_;
  std::optional<RowSum> slow_sum_;
};

// e^(x - M) / S. Error 2^-47 of an exponential times the reciprocal of their sum, whose common
// factor goes: that of the exponential where the result is not zero, that of S, and two roundings.
//
// The only rational results are 1/n, for n elements of one value: no other but powers of two are
// middles between two elements, or near to one in 100 digits, and pairs are exact for those.
template <class T>
class SoftmaxOfRow : public RowFunction<T> {
 public:
  // `sum`: of the exponentials.
  SoftmaxOfRow(const PackedRow<T>& row, const PowersOfRow& powers, double sum)
      : RowFunction<T>(row, powers.maximum()), powers_(powers), sum_(sum) {}

  // The result of one element, rounded to odd.
  double Decided(double x) {
    const double fast_sum = sum_ / powers_.unit();
    const double result =
        slow::Remembered({&kFastIdentity, {fast_sum, 0}, {x, this->maximum()}}, [&] {
          const slow::DoubleDouble quotient = slow::Exp(this->Difference(x)) / fast_sum;
          return DecidedBetween<T>(quotient * (1 - kSumError), quotient * (1 + kSumError));
        });
    if (!std::isnan(result)) return result;
    const RowSum& parts = this->slow_sum();
    const slow::DoubleDouble sum = parts.maxima + parts.rest;
    return slow::Remembered({&kIdentity, {sum.high, sum.low}, {x, this->maximum()}}, [&] {
      return slow::RoundedToOdd(slow::Exp(this->Difference(x)) / sum);
    });
  }

 private:
  static constexpr char kFastIdentity = 0;
  static constexpr char kIdentity = 0;
  // Those of exponentials, 2^-50 and 2^-50.2; seven roundings of their sum, 2^-50.2; that of the
  // common factor, 2^-51.
  static constexpr double kSumError = 0x1.8p-49;

  PowersOfRow powers_;
  double sum_;
};

// (x - M) - ln S. Error 2^-46.3, where both are subtracted from x in turn: terms have the same
// sign, so it is at most that of the logarithm, and two roundings.
//
// An irrational number is no middle, but it may be next to one in thousands of digits: where x - M
// is a middle, and S next to 1. There the sign of the logarithm decides.
template <class T>
class LogSoftmaxOfRow : public RowFunction<T> {
 public:
  LogSoftmaxOfRow(const PackedRow<T>& row, double maximum, const RowSum& sum)
      : RowFunction<T>(row, maximum), logarithm_(FastLogarithm(this->AtLeastTiny(sum))) {}

  double logarithm() const { return logarithm_; }

  // The result of one element, rounded to odd.
  double Decided(double x) {
    const slow::DoubleDouble difference = this->Difference(x);
    // Most often next to a middle because x - M is one: then about any logarithm will do.
    const double result = DecidedBetween<T>(difference - logarithm_ * (1 - kRowError),
                                            difference - logarithm_ * (1 + kRowError));
    if (!std::isnan(result)) return result;
    const slow::DoubleDouble logarithm = SlowLogarithm();
    return slow::Remembered({&kIdentity, {logarithm.high, logarithm.low}, {x, this->maximum()}},
                            [&] { return slow::RoundedToOdd(difference - logarithm); });
  }

 private:
  static constexpr char kIdentity = 0;

  // ln S = ln T + (S - T) / T for T next to S: error 2^-46.4, that of the sum and of LogOf. The sum
  // of others is at least 2^-300, so most of it is of elements less than 230 below M: error
  // 2^-46.8.
  static double FastLogarithm(const RowSum& sum) {
    const hn::ScalableTag<double> dd;
    const slow::DoubleDouble parts = slow::ExactSum(sum.maxima, sum.rest.high);
    const double logarithm = hn::GetLane(LogOf(dd, hn::Set(dd, parts.high)));
    return logarithm + parts.low / parts.high;
  }

  const slow::DoubleDouble& SlowLogarithm() {
    if (!slow_logarithm_) {
      const RowSum& parts = this->slow_sum();
      slow_logarithm_ =
          parts.maxima == 1 ? slow::Log1p(parts.rest) : slow::Log(parts.maxima + parts.rest);
    }
    return *slow_logarithm_;
  }

  double logarithm_;
  std::optional<slow::DoubleDouble> slow_logarithm_;
};

// ------------------------------------------------------------------ Rows

// `result` of `x`, with those lanes replaced whose bounds round to elements that differ.
template <class D, class F>
HWY_NOINLINE Value<D> SettledInRow(D d, F& function, Value<D> x,
                                   hn::Vec<hn::ScalableTag<double>> result) {
  const hn::ScalableTag<double> dd;
  const BitsTag<D> du;
  using Bits = hn::TFromD<BitsTag<D>>;
  HWY_ALIGN Bits below[MaxLanes(D())];
  HWY_ALIGN Bits above[MaxLanes(D())];
  HWY_ALIGN double results[MaxLanes(D())];
  HWY_ALIGN double inputs[MaxLanes(D())];
  // Rounding is monotone: where both bounds give one element, so does the exact number.
  const auto lower = hn::Mul(result, hn::Set(dd, 1 - kRowError));
  const auto upper = hn::Mul(result, hn::Set(dd, 1 + kRowError));
  hn::Store(hn::BitCast(du, Narrowed(d, lower)), du, below);
  hn::Store(hn::BitCast(du, Narrowed(d, upper)), du, above);
  hn::Store(result, dd, results);
  hn::Store(Widened(d, x), dd, inputs);
  for (size_t i = 0; i < Lanes(d); ++i) {
    if (below[i] != above[i]) results[i] = function.Decided(inputs[i]);
  }
  return Narrowed(d, hn::Load(dd, results));
}

// Narrows results; whether that was safe.
template <NarrowedKind kKind, FloatInDoubleTag D>
HWY_INLINE bool NarrowInRow(D d, hn::Vec<hn::ScalableTag<double>> result, Value<D>& element) {
  element = NarrowToFloat(d, result);
  return NarrowSafely<kLogRowUlps, kKind>(d, result);
}

// By way of FLOAT32, which rounds by less than 2^29 units: so far from middles a second rounding
// does no harm.
template <NarrowedKind kKind, HalfInDoubleTag D>
HWY_INLINE bool NarrowInRow(D d, hn::Vec<hn::ScalableTag<double>> result, Value<D>& element) {
  const hn::Rebind<float, D> df;
  element = DemoteHalf(df, NarrowToFloat(df, result));
  return NarrowSafely<29, kKind>(d, result);
}

// The results of elements `begin` to `end` of a row, where fast_at(i, load) gives those of a vector
// and load(i) its elements.
template <NarrowedKind kKind, class T, class F, class FastAt>
HWY_INLINE void StoreResults(const PackedRow<T>& row, std::byte* out, size_t begin, size_t end,
                             F& function, const FastAt& fast_at) {
  using D = InDoubleTag<T>;
  const size_t step = Lanes(D());
  // A local copy, so that no store can change it.
  const PackedRow<T> elements = row;
  const auto results_at = [&](size_t i, const auto& load) HWY_ATTR {
    const auto result = fast_at(i, load);
    Value<D> narrow;
    if (HWY_LIKELY(NarrowInRow<kKind>(D(), result, narrow))) return narrow;
    return SettledInRow(D(), function, load(i), result);
  };
  const auto load_whole = [&](size_t i) HWY_ATTR { return LoadAt(ValueTag<D>(), elements.at(i)); };
  const auto load_rest = [&](size_t i) HWY_ATTR { return LoadOfRow(D(), elements, i); };
  size_t i = begin;
  for (; i + step <= end; i += step) {
    StoreAt<false>(results_at(i, load_whole), ValueTag<D>(), out + i * sizeof(T));
  }
  if (i < end) StoreOfRow(D(), results_at(i, load_rest), out, i, end);
}

template <class T>
void FillWithNaN(std::byte* out, size_t count) {
  const uint32_t nan = sizeof(T) == 2 ? 0x7E00 : 0x7FC00000;
  for (size_t i = 0; i < count; ++i) std::memcpy(out + i * sizeof(T), &nan, sizeof(T));
}

// Stores the exponentials of elements `begin` to `end`, and of more behind the row up to a whole
// vector; their sum. Results at `out` are next.
template <class Kind, class T>
HWY_NOINLINE double KeepPowers(PackedRow<T> row, PowersOfRow powers, size_t begin, size_t end,
                               double* kept, const std::byte* out) {
  return SumOfBlock<Kind>(row, begin, end, [&](auto kind, size_t i, auto x) HWY_ATTR {
    const hn::ScalableTag<double> dd;
    const auto power = powers.At(dd, kind, x);
    hn::Store(power, dd, kept + (i - begin));
    hwy::Prefetch(out + i * sizeof(T));
    return power;
  });
}

// The results of a row with a finite maximum. Exponentials are kept from the sum to the results
// where there is room for all of them, and computed twice otherwise.
template <class Kind, class T>
void RunSoftmax(PackedRow<T> row, double maximum, std::byte* out, std::span<double> scratch) {
  // Of longer rows, few at a time: they stay in the first-level cache.
  constexpr size_t kKeptOfMany = 1024;
  constexpr auto kKind =
      Kind::value && sizeof(T) == 4 ? NarrowedKind::kNormal : NarrowedKind::kMagnitude;
  const hn::ScalableTag<double> dd;
  const PowersOfRow powers(maximum);
  double* const kept = scratch.data();
  const bool is_kept = row.count <= scratch.size();
  const double sum = is_kept ? KeepPowers<Kind>(row, powers, 0, row.count, kept, out)
                             : SumOfRow<Kind>(row, [&](auto kind, size_t /*i*/, auto x)
                                                       HWY_ATTR { return powers.At(dd, kind, x); });
  if (std::isnan(sum)) return FillWithNaN<T>(out, row.count);
  SoftmaxOfRow<T> function(row, powers, sum);
  const auto reciprocal = hn::Set(dd, 1 / sum);
  const size_t step = is_kept ? scratch.size() : kKeptOfMany;
  for (size_t begin = 0; begin < row.count; begin += step) {
    const size_t end = std::min(begin + step, row.count);
    if (!is_kept) KeepPowers<Kind>(row, powers, begin, end, kept, out);
    StoreResults<kKind>(row, out, begin, end, function, [&](size_t i, const auto&) HWY_ATTR {
      return hn::Mul(hn::Load(dd, kept + (i - begin)), reciprocal);
    });
  }
}

template <NarrowedKind kKind, class T>
HWY_NOINLINE void StoreLogResults(const PackedRow<T>& row, std::byte* out,
                                  LogSoftmaxOfRow<T>& function) {
  const hn::ScalableTag<double> dd;
  const auto most = hn::Set(dd, function.maximum());
  const auto logarithm = hn::Set(dd, function.logarithm());
  StoreResults<kKind>(row, out, 0, row.count, function, [&](size_t i, const auto& load) HWY_ATTR {
    return hn::Sub(hn::Sub(Widened(InDoubleTag<T>(), load(i)), most), logarithm);
  });
}

// The results for the logarithm.
template <class Kind, class T>
void RunLogSoftmax(PackedRow<T> row, double maximum, std::byte* out) {
  const hn::ScalableTag<double> dd;
  const PowersOfRow powers(maximum);
  const auto most = hn::Set(dd, maximum);
  size_t maxima = 0;
  const double rest = SumOfRow<Kind>(row, [&](auto kind, size_t /*i*/, auto x) HWY_ATTR {
    const auto is_maximum = hn::Eq(x, most);
    maxima += hn::CountTrue(dd, is_maximum);
    return hn::IfThenZeroElse(is_maximum, powers.At(dd, kind, x));
  });
  if (std::isnan(rest)) return FillWithNaN<T>(out, row.count);
  LogSoftmaxOfRow<T> function(row, maximum, {static_cast<double>(maxima), rest / powers.unit()});
  // No result is smaller than the logarithm.
  if (function.logarithm() > 0x1p-14) {
    StoreLogResults<NarrowedKind::kNormal>(row, out, function);
  } else {
    StoreLogResults<NarrowedKind::kAny>(row, out, function);
  }
}

// A row without a finite maximum has no sum: NaN and plus infinity take it, minus infinities have
// nothing but themselves. Calls run(kind, row, maximum) for all others.
template <class T, class Run>
void RunFiniteRow(const std::byte* in, std::byte* out, size_t count, const Run& run) {
  const PackedRow<T> row = {in, count};
  const RowLimits limits = LimitsOfRow(row);
  if (!std::isfinite(limits.most)) return FillWithNaN<T>(out, count);
  const bool is_plain =
      limits.most - limits.least <= kMostSpread && std::abs(limits.most) <= kMostOfPlain;
  if (is_plain) return run(PlainRow(), row, limits.most);
  run(AnyRow(), row, limits.most);
}

// SOFTMAX of `count` packed elements of T, float or hwy::float16_t. Both rows may have any address;
// they do not overlap. `scratch` is room for 1024 exponentials or more, a multiple of that, at a
// multiple of 64 bytes.
template <class T>
void SoftmaxRow(const std::byte* in, std::byte* out, size_t count, std::span<double> scratch) {
  RunFiniteRow<T>(in, out, count, [&](auto kind, const PackedRow<T>& row, double maximum) {
    RunSoftmax<decltype(kind)>(row, maximum, out, scratch);
  });
}

// LOG_SOFTMAX of such rows.
template <class T>
void LogSoftmaxRow(const std::byte* in, std::byte* out, size_t count) {
  RunFiniteRow<T>(in, out, count, [&](auto kind, const PackedRow<T>& row, double maximum) {
    RunLogSoftmax<decltype(kind)>(row, maximum, out);
  });
}

// The element that HARDMAX chooses of at least one: the first that no other is above, where a NaN
// is above none and none above a NaN that is the first.
template <class T>
size_t HardmaxIndex(const std::byte* in, size_t count) {
  const PackedRow<T> row = {in, count};
  const InFloatTag<T> d;
  const hn::ScalableTag<float> df;
  const float first = hn::GetLane(AsFloats(d, LoadOfRow(d, row, 0)));
  if (std::isnan(first)) return 0;
  auto highest = hn::Set(df, first);
  for (size_t i = 0; i < count; i += Lanes(d)) {
    const auto x = AsFloats(d, LoadOfRow(d, row, i));
    highest = hn::IfThenElse(hn::Gt(x, highest), x, highest);
  }
  const auto maximum = hn::Set(df, hn::GetLane(hn::MaxOfLanes(df, highest)));
  for (size_t i = 0; i < count; i += Lanes(d)) {
    const auto is_maximum = hn::Eq(AsFloats(d, LoadOfRow(d, row, i)), maximum);
    const intptr_t found = hn::FindFirstTrue(df, is_maximum);
    if (found >= 0) return i + static_cast<size_t>(found);
  }
  return 0;
}

// 1 for that element, +0 for all others.
template <class T>
void HardmaxRow(const std::byte* in, std::byte* out, size_t count) {
  const size_t chosen = HardmaxIndex<T>(in, count);
  const uint32_t one = sizeof(T) == 2 ? 0x3C00 : 0x3F800000;
  std::memset(out, 0, count * sizeof(T));
  std::memcpy(out + chosen * sizeof(T), &one, sizeof(T));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
