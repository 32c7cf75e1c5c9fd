#include "opserve/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "client/compare/element_traits.h"
#include "client/compare/tensor_pair.h"
#include "client/compare/worst_elements.h"

namespace opserve {
namespace {

using compare_internal::CheckBytes;
using compare_internal::Float16Traits;
using compare_internal::Float32Traits;
using compare_internal::Float64Traits;
using compare_internal::IntegerTraits;
using compare_internal::RankedDifference;
using compare_internal::StridesOf;
using compare_internal::TensorPair;
using compare_internal::WorstElements;

// A sum of up to 2^64 numbers of 64 bits.
class WideSum {
 public:
  void Add(uint64_t number) {
    if (__builtin_add_overflow(low_, number, &low_)) ++high_;
  }
  double DividedBy(uint64_t count) const {
    return (std::ldexp(static_cast<double>(high_), 64) + static_cast<double>(low_)) /
           static_cast<double>(count);
  }

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

size_t BucketOf(uint64_t ulp) {
  return ulp == 0 ? 0 : 1 + static_cast<size_t>(std::bit_width(ulp - 1));
}

// Counts differences into a comparison.
template <class Traits>
class Tally {
 public:
  using Bits = typename Traits::Bits;

  Tally(const ComparisonOptions& options, Comparison& comparison)
      : options_(options), comparison_(comparison), worst_(options.worst_elements) {}

  // Elements whose bits differ, in the order of their indices.
  void Add(uint64_t index, Bits expected, Bits actual) {
    ++unequal_;
    if constexpr (Traits::kIsFloat) {
      const bool expects_nan = Traits::IsNan(expected);
      const bool has_nan = Traits::IsNan(actual);
      if (expects_nan || has_nan) {
        if (expects_nan && has_nan && !options_.same_nans) {
          ++comparison_.ulp_histogram[0];
        } else {
          ++comparison_.nan_disagreements;
          Note({index, expected, actual, 0, true, true});
        }
        return;
      }
      if (Traits::IsInfinite(expected) || Traits::IsInfinite(actual)) {
        ++comparison_.infinity_disagreements;
      }
    }
    AddNumbers(index, expected, actual);
  }

  // After all of them.
  std::vector<RankedDifference> Finish() {
    comparison_.ulp_histogram[0] += comparison_.elements - unequal_;
    const uint64_t numbers = comparison_.elements - comparison_.nan_disagreements;
    if (numbers > 0) comparison_.mean_ulp = sum_.DividedBy(numbers);
    return worst_.Take();
  }

 private:
  void AddNumbers(uint64_t index, Bits expected, Bits actual) {
    const uint64_t ulp = Traits::Distance(expected, actual);
    if (Traits::IsNegative(expected) != Traits::IsNegative(actual))
      ++comparison_.sign_disagreements;
    ++comparison_.ulp_histogram[BucketOf(ulp)];
    if (ulp == 0) {
      ++comparison_.zero_sign_disagreements;
      if (options_.signed_zeros) Note({index, expected, actual, 0, false, true});
      return;
    }
    sum_.Add(ulp);
    if (ulp > comparison_.largest_ulp) {
      comparison_.largest_ulp = ulp;
      comparison_.largest_ulp_index = index;
    }
    const double error = NoteErrors(ulp, expected, actual);
    const Tolerance& tolerance = options_.tolerance;
    Note({index, expected, actual, ulp, false,
          ulp > tolerance.ulp && !(error <= tolerance.absolute)});
  }

  // The absolute error; infinite where one is infinite.
  double NoteErrors(uint64_t ulp, Bits expected, Bits actual) {
    const double wanted = Traits::Value(expected);
    double error = static_cast<double>(ulp);
    if constexpr (Traits::kIsFloat) {
      if (Traits::IsInfinite(expected) || Traits::IsInfinite(actual)) {
        return std::numeric_limits<double>::infinity();
      }
      error = std::fabs(Traits::Value(actual) - wanted);
    }
    comparison_.largest_absolute_error = std::max(comparison_.largest_absolute_error, error);
    const double relative =
        wanted == 0 ? std::numeric_limits<double>::infinity() : error / std::fabs(wanted);
    comparison_.largest_relative_error = std::max(comparison_.largest_relative_error, relative);
    return error;
  }

  void Note(const RankedDifference& difference) {
    ++comparison_.different;
    if (difference.beyond_tolerance) ++comparison_.beyond_tolerance;
    if (!comparison_.first_different) comparison_.first_different = difference.index;
    worst_.Add(difference);
  }

  const ComparisonOptions& options_;
  Comparison& comparison_;
  WorstElements worst_;
  uint64_t unequal_ = 0;
  WideSum sum_;
};

template <class Traits>
std::vector<RankedDifference> Compare(const TensorPair& pair, const ComparisonOptions& options,
                                      Comparison& comparison) {
  using Bits = typename Traits::Bits;
  Tally<Traits> tally(options, comparison);
  pair.ForEachUnequal<Bits>(
      [&](uint64_t index, Bits expected, Bits actual) { tally.Add(index, expected, actual); });
  return tally.Finish();
}

std::vector<RankedDifference> CompareTyped(const TensorPair& pair, const ComparisonOptions& options,
                                           Comparison& comparison) {
  switch (comparison.data_type) {
    case DataType::kFloat64:
      return Compare<Float64Traits>(pair, options, comparison);
    case DataType::kFloat32:
      return Compare<Float32Traits>(pair, options, comparison);
    case DataType::kFloat16:
      return Compare<Float16Traits>(pair, options, comparison);
    case DataType::kInt64:
      return Compare<IntegerTraits<int64_t>>(pair, options, comparison);
    case DataType::kInt32:
      return Compare<IntegerTraits<int32_t>>(pair, options, comparison);
    case DataType::kInt16:
      return Compare<IntegerTraits<int16_t>>(pair, options, comparison);
    case DataType::kInt8:
      return Compare<IntegerTraits<int8_t>>(pair, options, comparison);
    case DataType::kUint64:
      return Compare<IntegerTraits<uint64_t>>(pair, options, comparison);
    case DataType::kUint32:
      return Compare<IntegerTraits<uint32_t>>(pair, options, comparison);
    case DataType::kUint16:
      return Compare<IntegerTraits<uint16_t>>(pair, options, comparison);
    case DataType::kUint8:
      return Compare<IntegerTraits<uint8_t>>(pair, options, comparison);
    case DataType::kUnknown:
      break;
  }
  return {};
}

// The element of an input at `coordinates` of the result.
std::optional<ElementValue> ElementOf(const TensorView& input, const std::vector<uint32_t>& sizes,
                                      const std::vector<uint32_t>& coordinates) {
  const TensorSpec& spec = input.spec();
  if (spec.sizes != sizes || !CheckBytes("an input", input).ok()) return std::nullopt;
  const std::vector<uint64_t> strides = StridesOf(spec);
  uint64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) offset += coordinates[d] * strides[d];
  const size_t size = SizeOf(spec.data_type);
  ElementValue element{spec.data_type, 0};
  std::memcpy(&element.bits, input.bytes().data() + offset * size, size);
  return element;
}

ElementDifference Explain(const RankedDifference& ranked, const Comparison& comparison,
                          std::span<const TensorView> inputs) {
  ElementDifference difference{
      .index = ranked.index,
      .coordinates = compare_internal::CoordinatesOf(comparison.sizes, ranked.index),
      .expected = {comparison.data_type, ranked.expected},
      .actual = {comparison.data_type, ranked.actual},
      .is_nan = ranked.is_nan,
      .ulp = ranked.ulp,
      .beyond_tolerance = ranked.beyond_tolerance,
      .inputs = {}};
  for (const TensorView& input : inputs) {
    difference.inputs.push_back(ElementOf(input, comparison.sizes, difference.coordinates));
  }
  return difference;
}

}  // namespace

absl::StatusOr<Comparison> CompareTensors(const TensorView& expected, const TensorView& actual,
                                          std::span<const TensorView> inputs,
                                          const ComparisonOptions& options) {
  const absl::StatusOr<TensorPair> pair = TensorPair::Make(expected, actual);
  if (!pair.ok()) return pair.status();
  Comparison comparison;
  comparison.data_type = expected.spec().data_type;
  comparison.sizes = expected.spec().sizes;
  comparison.tolerance = options.tolerance;
  comparison.elements = *ElementCount(expected.spec());
  for (const RankedDifference& ranked : CompareTyped(*pair, options, comparison)) {
    comparison.worst.push_back(Explain(ranked, comparison, inputs));
  }
  return comparison;
}

}  // namespace opserve
