#include "kernels/validate_tensor.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// "ATensor", or "the tensor" where the operator is unknown.
absl::string_view Subject(const TensorRules& rules) {
  return rules.name.empty() ? "the tensor" : rules.name;
}

std::optional<DataType> CheckDataType(int number, const TensorRules& rules,
                                      ViolationList& violations) {
  const std::string field = absl::StrCat(rules.field, ".data_type");
  const std::optional<DataType> type = DataTypeFromNumber(number);
  if (!type) {
    violations.Add(field, number == 0 ? "The data type is missing" : "There is no such data type",
                   " (", number, "); ",
                   rules.types.empty() ? "known are the numbers 1 to 11" : "allowed: ",
                   rules.types.ToString(), ".");
    return std::nullopt;
  }
  if (!rules.types.empty() && !rules.types.contains(*type)) {
    violations.Add(field, NameOf(*type), " is not supported for ", Subject(rules),
                   " at feature level ", NameOf(rules.level), "; allowed: ", rules.types.ToString(),
                   ".");
    return std::nullopt;
  }
  return type;
}

bool CheckDimensionCount(size_t count, const TensorRules& rules, ViolationList& violations) {
  if (count >= static_cast<size_t>(rules.min_dimension_count) &&
      count <= static_cast<size_t>(rules.max_dimension_count)) {
    return true;
  }
  const std::string allowed =
      rules.min_dimension_count == rules.max_dimension_count
          ? absl::StrCat("exactly ", rules.max_dimension_count)
          : absl::StrCat(rules.min_dimension_count, " to ", rules.max_dimension_count);
  violations.Add(absl::StrCat(rules.field, ".sizes"), "The number of dimensions (", count,
                 ") is not supported for ", Subject(rules), " at feature level ",
                 NameOf(rules.level), "; allowed: ", allowed, ".");
  return false;
}

bool CheckNoZeroSize(std::span<const uint32_t> sizes, const TensorRules& rules,
                     ViolationList& violations) {
  bool ok = true;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 0) continue;
    violations.Add(absl::StrCat(rules.field, ".sizes[", d, "]"),
                   "The size (0) is not allowed; every size is at least 1.");
    ok = false;
  }
  return ok;
}

bool CheckElementCount(std::span<const uint32_t> sizes, const TensorRules& rules,
                       const ValidationLimits& limits, ViolationList& violations) {
  const std::optional<uint64_t> count = ElementCount(sizes);
  if (count && *count <= limits.max_elements) return true;
  violations.Add(absl::StrCat(rules.field, ".sizes"), "The number of elements (",
                 count ? absl::StrCat(*count) : "more than 2^64 - 1", ") exceeds the limit (",
                 limits.max_elements, ").");
  return false;
}

bool CheckExtent(const TensorDesc& desc, const TensorRules& rules, const ValidationLimits& limits,
                 ViolationList& violations) {
  const std::optional<uint64_t> bytes = ExactSizeInBytes(desc);
  if (bytes && *bytes <= limits.max_tensor_bytes) return true;
  violations.Add(absl::StrCat(rules.field, desc.has_strides ? ".strides" : ".sizes"),
                 "The tensor's size in bytes (",
                 bytes ? absl::StrCat(*bytes) : "more than 2^64 - 1", ") exceeds the limit (",
                 limits.max_tensor_bytes, ").");
  return false;
}

bool CheckNoOverlap(const TensorDesc& desc, const TensorRules& rules, ViolationList& violations) {
  if (!rules.is_output || !desc.has_strides || !HasOverlap(desc.size_span(), desc.stride_span())) {
    return true;
  }
  for (size_t d = 0; d < desc.dimension_count; ++d) {
    if (desc.strides[d] != 0 || desc.sizes[d] == 1) continue;
    violations.Add(absl::StrCat(rules.field, ".strides[", d, "]"),
                   "The stride (0) makes elements of the output share an address; only inputs can "
                   "be broadcast.");
    return false;
  }
  violations.Add(absl::StrCat(rules.field, ".strides"),
                 "The strides make elements of the output share an address; choose strides of "
                 "which each exceeds the reach of all smaller ones.");
  return false;
}

bool CheckStrideCount(const TensorDescView& view, const TensorRules& rules,
                      ViolationList& violations) {
  if (view.strides.empty() || view.strides.size() == view.sizes.size()) return true;
  violations.Add(absl::StrCat(rules.field, ".strides"), "The number of strides (",
                 view.strides.size(), ") differs from the number of sizes (", view.sizes.size(),
                 "); give one per dimension, or none for a packed tensor.");
  return false;
}

// The descriptor that a view of sound shape stands for.
TensorDesc DescOf(DataType type, const TensorDescView& view) {
  TensorDesc desc = PackedDesc(type, view.sizes);
  desc.has_strides = !view.strides.empty();
  std::copy(view.strides.begin(), view.strides.end(), desc.strides.begin());
  return desc;
}

}  // namespace

TensorCheck CheckTensor(const TensorDescView& view, const TensorRules& rules,
                        const ValidationLimits& limits, ViolationList& violations) {
  TensorCheck check;
  check.type = CheckDataType(view.data_type, rules, violations);
  const bool strides_fit = CheckStrideCount(view, rules, violations);
  const bool has_good_rank = CheckDimensionCount(view.sizes.size(), rules, violations);
  // Beyond what a descriptor can hold, single sizes are not worth listing.
  if (view.sizes.size() > kMaxDimensionCount) return check;
  const bool sizes_ok = CheckNoZeroSize(view.sizes, rules, violations) &&
                        CheckElementCount(view.sizes, rules, limits, violations);
  check.has_good_sizes = has_good_rank && sizes_ok;
  if (!sizes_ok || view.sizes.empty() || !strides_fit) return check;

  // The narrowest element stands in for an unknown one, so that sizes are judged all the same.
  const TensorDesc desc = DescOf(check.type.value_or(DataType::kUint8), view);
  const bool fits = CheckExtent(desc, rules, limits, violations);
  // Packed, it is the sizes that are too large, and an output that takes them over would be as
  // well.
  if (!fits && !desc.has_strides) check.has_good_sizes = false;
  const bool is_sound = fits && CheckNoOverlap(desc, rules, violations);
  if (is_sound && has_good_rank && check.type) check.desc = desc;
  return check;
}

std::string FittingSizes(uint64_t exact) {
  const uint64_t rounded = RoundUpToFour(exact);
  return rounded <= exact ? absl::StrCat(exact) : absl::StrCat(exact, " (or ", rounded, ")");
}

}  // namespace opserve
