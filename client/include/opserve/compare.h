// File: opserve/compare.h
//
// Compares the result of another device with the right one, element by element, as test farms do:
//
//   absl::StatusOr<opserve::Comparison> comparison =
//       opserve::CompareTensors(expected.view(), actual.view(), call.inputs,
//                               {.tolerance = {.ulp = 2}});
//   if (!comparison.ok()) return comparison.status();
//   if (!comparison->within_tolerance()) std::cout << comparison->largest_ulp << " ulp\n";
//
// Client::Compare has the server compute the right one. Distances are in ulp, units in the last
// place: all values of a float type stand on a line, and neighbours are 1 ulp apart; -0 and +0 are
// one place, the infinities are the neighbours of the largest numbers, and NaNs stand nowhere. Of
// integers the distance is the difference. All of it is exact.
//
// Plain structs, and functions without state that are safe to call from any thread.

#ifndef OPSERVE_COMPARE_H_
#define OPSERVE_COMPARE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "opserve/tensor.h"

namespace opserve {

// One element of a tensor, of any type.
struct ElementValue {
  DataType data_type = DataType::kUnknown;
  uint64_t bits = 0;  // as in memory, in the low bits; the others are 0

  bool operator==(const ElementValue&) const = default;
};

// The shortest decimal text that identifies the element among those of its type: "0.1", "-0",
// "-inf", "nan", "-5". Empty where the type is unknown.
std::string ToString(const ElementValue& element);

// All bits of the element: "0x3dcccccd" for a FLOAT32. Empty where the type is unknown.
std::string ToHex(const ElementValue& element);

// How far an element may be from the right one. It is within the tolerance where either bound
// holds.
struct Tolerance {
  uint64_t ulp = 0;
  double absolute = 0;  // difference of the values; NaN is taken for 0

  bool operator==(const Tolerance&) const = default;
};

// What counts as a difference, and what is told of it.
struct ComparisonOptions {
  Tolerance tolerance = {};
  // Whether NaNs are equal only where they have the same bits; else any NaN is as good as another.
  bool same_nans = false;
  // Whether -0 in the place of +0, or the reverse, is a difference, and beyond any tolerance.
  bool signed_zeros = false;
  // Most elements in Comparison::worst. Memory grows with them, and with nothing else.
  size_t worst_elements = 10;
};

// An element that is not the expected one.
struct ElementDifference {
  uint64_t index = 0;                 // in the packed layout of the sizes
  std::vector<uint32_t> coordinates;  // the same, one per dimension
  ElementValue expected;
  ElementValue actual;
  // Whether it is a difference of NaNs, which has no distance.
  bool is_nan = false;
  uint64_t ulp = 0;
  bool beyond_tolerance = false;
  // One per input: its element in the same place. Empty where the input has other sizes than the
  // result, or its bytes are not here, such as those of a resident tensor.
  std::vector<std::optional<ElementValue>> inputs;
};

// A range of distances, both ends included.
struct UlpRange {
  uint64_t least = 0;
  uint64_t most = 0;
};

// How two tensors differ.
struct Comparison {
  // Distances of 0, 1, 2, 3 to 4, 5 to 8, ..., 2^63 + 1 to 2^64 - 1: see UlpRangeOf.
  static constexpr size_t kUlpBuckets = 66;

  DataType data_type = DataType::kUnknown;  // of both tensors
  std::vector<uint32_t> sizes;              // of both tensors
  Tolerance tolerance;                      // as in the options

  uint64_t elements = 0;          // of each tensor
  uint64_t different = 0;         // that are not equal, see ComparisonOptions
  uint64_t beyond_tolerance = 0;  // of these
  // Elements by their distance; those of nan_disagreements are in none.
  std::array<uint64_t, kUlpBuckets> ulp_histogram = {};
  uint64_t largest_ulp = 0;
  // The first element with that distance; nothing where it is 0.
  std::optional<uint64_t> largest_ulp_index;
  double mean_ulp = 0;  // of all elements but those of nan_disagreements
  // Largest difference of two finite values, rounded to a double, and largest such difference
  // divided by the expected value, infinite where that is 0.
  double largest_absolute_error = 0;
  double largest_relative_error = 0;
  // Elements where one is a NaN and the other is not; with ComparisonOptions::same_nans also two
  // NaNs with other bits. Beyond any tolerance.
  uint64_t nan_disagreements = 0;
  // Elements where one is infinite and the other is another number. The distance judges them.
  uint64_t infinity_disagreements = 0;
  // Elements with another sign, those of zeros included; no NaNs.
  uint64_t sign_disagreements = 0;
  // How many of these have -0 in the place of +0 or the reverse.
  uint64_t zero_sign_disagreements = 0;
  // Index of the first of `different`.
  std::optional<uint64_t> first_different;
  // The worst of `different`: NaNs first, then those beyond the tolerance, then by distance, then
  // by index.
  std::vector<ElementDifference> worst;

  bool within_tolerance() const { return beyond_tolerance == 0; }
};

// The distances that `bucket` of Comparison::ulp_histogram counts; it must be below kUlpBuckets.
UlpRange UlpRangeOf(size_t bucket);

// Compares `actual` with `expected` in one pass, whatever their strides. `inputs` are those of the
// call, for ElementDifference::inputs. INVALID_ARGUMENT unless both have the same type and sizes,
// and their bytes are here.
absl::StatusOr<Comparison> CompareTensors(const TensorView& expected, const TensorView& actual,
                                          std::span<const TensorView> inputs = {},
                                          const ComparisonOptions& options = {});

}  // namespace opserve

#endif  // OPSERVE_COMPARE_H_
