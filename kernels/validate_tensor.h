// File: kernels/validate_tensor.h
//
// The part of validation that looks at one tensor descriptor alone. Internal to kernels/.

#ifndef OPSERVE_KERNELS_VALIDATE_TENSOR_H_
#define OPSERVE_KERNELS_VALIDATE_TENSOR_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "kernels/tensor_desc.h"
#include "kernels/validate.h"
#include "kernels/violations.h"

namespace opserve {

// What a tensor is checked against.
struct TensorRules {
  std::string field;       // proto path of the descriptor: "inputs[1]"
  absl::string_view name;  // DirectML's name, or empty where the operator is unknown
  FeatureLevel level = kHighestFeatureLevel;
  int min_dimension_count = 1;
  int max_dimension_count = kMaxDimensionCount;
  DataTypeSet types = {};  // empty: any
  bool is_output = false;
};

// What is known about a tensor after its check.
struct TensorCheck {
  std::optional<TensorDesc> desc;  // if nothing is wrong with it
  std::optional<DataType> type;    // if the data type is supported, whatever else is wrong
  bool has_good_sizes = false;     // whether the sizes are supported, whatever else is wrong
};

// Checks data type, dimension count, sizes, strides and total size of one descriptor, and adds a
// violation for each fault.
TensorCheck CheckTensor(const TensorDescView& view, const TensorRules& rules,
                        const ValidationLimits& limits, ViolationList& violations);

// Whether memory of `given` bytes may hold a tensor that needs `exact`: as many, or that number
// rounded up to a multiple of 4.
constexpr bool IsFittingSize(uint64_t given, uint64_t exact) {
  // Next to 2^64 the rounded number would be 0.
  return given == exact || (given > exact && given == RoundUpToFour(exact));
}

// The sizes that fit, for violations: "6 (or 8)".
std::string FittingSizes(uint64_t exact);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VALIDATE_TENSOR_H_
