#include "client/compare/tensor_pair.h"

#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve::compare_internal {

absl::Status CheckBytes(absl::string_view what, const TensorView& tensor) {
  if (tensor.place() && std::holds_alternative<TensorHandle>(*tensor.place())) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is at the server; read it with Client::ReadTensor"));
  }
  const absl::StatusOr<uint64_t> needed = ByteSize(tensor.spec());
  if (!needed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", needed.status().message()));
  }
  if (*needed == tensor.bytes().size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", ToString(tensor.spec()), " needs ",
                                                 *needed, " bytes, not ", tensor.bytes().size()));
}

std::vector<uint64_t> StridesOf(const TensorSpec& spec) {
  if (!spec.strides.empty()) return {spec.strides.begin(), spec.strides.end()};
  std::vector<uint64_t> strides(spec.sizes.size(), 1);
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * spec.sizes[d];
  return strides;
}

std::vector<uint32_t> CoordinatesOf(const std::vector<uint32_t>& sizes, uint64_t index) {
  std::vector<uint32_t> coordinates(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    coordinates[d] = static_cast<uint32_t>(index % sizes[d]);
    index /= sizes[d];
  }
  return coordinates;
}

absl::StatusOr<TensorPair> TensorPair::Make(const TensorView& expected, const TensorView& actual) {
  absl::Status checked = CheckBytes("the expected tensor", expected);
  if (checked.ok()) checked = CheckBytes("the actual tensor", actual);
  if (!checked.ok()) return checked;
  const TensorSpec& wanted = expected.spec();
  const TensorSpec& given = actual.spec();
  if (wanted.data_type != given.data_type || wanted.sizes != given.sizes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the actual tensor is ", ToString({given.data_type, given.sizes, {}}),
                     ", the expected one ", ToString({wanted.data_type, wanted.sizes, {}}),
                     "; type and sizes must be the same"));
  }
  return TensorPair(expected, actual);
}

TensorPair::TensorPair(const TensorView& expected, const TensorView& actual)
    : expected_(expected.bytes().data()), actual_(actual.bytes().data()) {
  const TensorSpec& spec = expected.spec();
  const uint64_t element_size = SizeOf(spec.data_type);
  const std::vector<uint64_t> expected_strides = StridesOf(spec);
  const std::vector<uint64_t> actual_strides = StridesOf(actual.spec());
  // From the innermost dimension on, in reverse.
  for (size_t d = spec.sizes.size(); d-- > 0;) {
    const Dimension next{spec.sizes[d], expected_strides[d] * element_size,
                         actual_strides[d] * element_size};
    if (next.size == 1) continue;
    if (!dimensions_.empty()) {
      Dimension& last = dimensions_.back();
      if (next.expected_step == last.expected_step * last.size &&
          next.actual_step == last.actual_step * last.size) {
        last.size *= next.size;
        continue;
      }
    }
    dimensions_.push_back(next);
  }
  if (dimensions_.empty()) dimensions_.push_back({1, element_size, element_size});
  std::reverse(dimensions_.begin(), dimensions_.end());
}

}  // namespace opserve::compare_internal
