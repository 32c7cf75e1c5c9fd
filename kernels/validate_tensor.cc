#include "kernels/validate_tensor.h"

#include <algorithm>
#include <cstddef>

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

// Whether the number of dimensions is one that a descriptor can hold at all.
bool CheckDimensionCount(size_t count, const TensorRules& rules, ViolationList& violations) {
  if (count < static_cast<size_t>(rules.min_dimension_count) ||
      count > static_cast<size_t>(rules.max_dimension_count)) {
    const std::string allowed =
        rules.min_dimension_count == rules.max_dimension_count
            ? absl::StrCat("exactly ", rules.max_dimension_count)
            : absl::StrCat(rules.min_dimension_count, " to ", rules.max_dimension_count);
    violations.Add(absl::StrCat(rules.field, ".sizes"), "The number of dimensions (", count,
                   ") is not supported for ", Subject(rules), " at feature level ",
                   NameOf(rules.level), "; allowed: ", allowed, ".");
  }
  return count >= 1 && count <= kMaxDimensionCount;
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

}  // namespace

std::optional<TensorDesc> CheckTensor(const TensorDescView& view, const TensorRules& rules,
                                      const ValidationLimits& limits, ViolationList& violations) {
  const size_t faults_before = violations.size();
  const std::optional<DataType> type = CheckDataType(view.data_type, rules, violations);

  TensorDesc desc;
  // The narrowest element stands in for an unknown one, so that sizes are judged all the same.
  desc.data_type = type.value_or(DataType::kUint8);
  if (!CheckDimensionCount(view.sizes.size(), rules, violations)) return std::nullopt;
  desc.dimension_count = static_cast<uint8_t>(view.sizes.size());
  std::copy(view.sizes.begin(), view.sizes.end(), desc.sizes.begin());

  desc.has_strides = !view.strides.empty();
  const bool strides_fit = !desc.has_strides || view.strides.size() == view.sizes.size();
  if (!strides_fit) {
    violations.Add(absl::StrCat(rules.field, ".strides"), "The number of strides (",
                   view.strides.size(), ") differs from the number of sizes (", view.sizes.size(),
                   "); give one per dimension, or none for a packed tensor.");
  }
  const bool sizes_ok = CheckNoZeroSize(view.sizes, rules, violations) &&
                        CheckElementCount(view.sizes, rules, limits, violations);
  if (sizes_ok && strides_fit) {
    if (desc.has_strides) {
      std::copy(view.strides.begin(), view.strides.end(), desc.strides.begin());
    } else {
      SetPackedStrides(desc);
    }
    if (CheckExtent(desc, rules, limits, violations)) CheckNoOverlap(desc, rules, violations);
  }
  if (violations.size() != faults_before) return std::nullopt;
  return desc;
}

}  // namespace opserve
