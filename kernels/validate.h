// File: kernels/validate.h
//
// Validation of operator requests against DirectML's feature-level tables. Finds every violation,
// not only the first, and has no branch per operator: the table's traits say it all. Stateless and
// safe to use from any thread.

#ifndef OPSERVE_KERNELS_VALIDATE_H_
#define OPSERVE_KERNELS_VALIDATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/invocation.h"

namespace opserve {

// A tensor descriptor as a client sent it; nothing about it is trusted.
struct TensorDescView {
  absl::string_view name = {};             // empty: by position
  int data_type = 0;                       // number of a DataType, or anything
  std::span<const uint32_t> sizes = {};    // any length
  std::span<const uint32_t> strides = {};  // empty: packed
  // False for an input of which nothing can be said, because something that was reported elsewhere
  // is wrong with it: it is not judged, and agrees with everything.
  bool is_known = true;
};

// An attribute as a client sent it: no value, a symbolic one, an integer, a float, or a list of
// integers. UINT64 is for integers that INT64 does not have.
struct AttributeView {
  absl::string_view name = {};
  std::variant<std::monostate, absl::string_view, int64_t, double, uint64_t,
               std::span<const int64_t>>
      value = {};
};

// An operator request as a client sent it. All views must outlive the call of Validate.
struct OperatorRequest {
  absl::string_view operator_name = {};
  absl::string_view feature_level = {};  // empty: kHighestFeatureLevel
  std::vector<AttributeView> attributes;
  std::vector<TensorDescView> inputs;
  std::optional<TensorDescView> output;
  std::vector<uint64_t> payload_bytes;  // length of each payload
  // Proto path of each of these lengths, for violations; empty: "payloads[0]" and so on.
  std::vector<std::string> payload_fields = {};
};

// Limits beyond DirectML's own.
struct ValidationLimits {
  // Most elements of a tensor; DirectML allows 2^32 - 1.
  uint64_t max_elements = UINT32_MAX;
  // Most bytes of one tensor, padding included.
  uint64_t max_tensor_bytes = uint64_t{1} << 30;
};

// No limit of bytes is higher than this: sums of a few sizes have 64 bits, padded to whole words.
inline constexpr uint64_t kHighestTensorLimit = uint64_t{1} << 40;

// Most inputs, attributes, values of one, and payloads that are looked at one by one; a request
// with more is refused with a single violation about their number.
inline constexpr size_t kMaxListedItems = 64;

// Most elements of a row whose elements do not lie one after the other, in the input or the output.
inline constexpr uint64_t kMaxGatheredRow = uint64_t{4} << 20;

// One thing that is wrong with a request.
struct Violation {
  std::string field;        // proto path: "inputs[1].strides[0]"
  std::string description;  // what is wrong, the offending value, what is allowed
  bool operator==(const Violation&) const = default;
};

// The outcome of validation: an invocation exactly if there are no violations and every input is
// known.
struct ValidationResult {
  std::shared_ptr<const Invocation> invocation;
  std::vector<Violation> violations;
  // The operator's name is unknown (one of the violations says so, with the nearest names).
  bool unknown_operator = false;
};

// Checks `request` completely: operator, feature level, attributes, descriptors, constraints
// between tensors, limits, and payload lengths. Never throws; bounded in time and memory by the
// request's own size.
ValidationResult Validate(const OperatorRequest& request, const ValidationLimits& limits);

// A descriptor that belongs to no operator: the tensor, exactly if there are no violations.
struct TensorValidation {
  std::optional<TensorDesc> desc;
  std::vector<Violation> violations;
};

// Checks a descriptor alone: any type, 1 to kMaxDimensionCount sizes, any strides, within `limits`.
// `field`: its proto path.
TensorValidation ValidateTensor(const TensorDescView& tensor, absl::string_view field,
                                const ValidationLimits& limits);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VALIDATE_H_
