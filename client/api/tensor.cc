#include "opserve/tensor.h"

#include <cstring>
#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve {
namespace {

std::optional<uint64_t> Multiply(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

absl::Status TooLarge(const TensorSpec& spec) {
  return absl::InvalidArgumentError(
      absl::StrCat("the size of ", ToString(spec), " exceeds 64 bits"));
}

absl::Status CheckSize(const TensorSpec& spec, uint64_t bytes) {
  const absl::StatusOr<uint64_t> needed = ByteSize(spec);
  if (!needed.ok() || *needed == bytes) return needed.status();
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(spec), " needs ", *needed, " bytes, not ", bytes));
}

// Elements from the first to the last that the layout reaches.
absl::StatusOr<uint64_t> Extent(const TensorSpec& spec) {
  uint64_t last = 0;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    // Two 32-bit factors never overflow; their sum can.
    const uint64_t step = uint64_t{spec.sizes[i] - 1} * spec.strides[i];
    if (__builtin_add_overflow(last, step, &last)) return TooLarge(spec);
  }
  if (last == UINT64_MAX) return TooLarge(spec);
  return last + 1;
}

// Copies the elements of `spec` from `from` to `to` in packed order. Dimension `d` onwards.
void Gather(const TensorSpec& spec, size_t d, const char* from, size_t element_size, char*& to) {
  const size_t step = spec.strides[d] * element_size;
  for (uint32_t i = 0; i < spec.sizes[d]; ++i, from += step) {
    if (d + 1 < spec.sizes.size()) {
      Gather(spec, d + 1, from, element_size, to);
    } else {
      std::memcpy(to, from, element_size);
      to += element_size;
    }
  }
}

}  // namespace

absl::StatusOr<uint64_t> ElementCount(const TensorSpec& spec) {
  if (spec.sizes.empty()) return absl::InvalidArgumentError("a tensor needs at least one size");
  std::optional<uint64_t> count = 1;
  for (uint32_t size : spec.sizes) {
    if (size == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes {", absl::StrJoin(spec.sizes, ", "), "} contain a 0"));
    }
    count = Multiply(*count, size);
    if (!count) return TooLarge(spec);
  }
  return *count;
}

absl::StatusOr<uint64_t> ByteSize(const TensorSpec& spec) {
  if (SizeOf(spec.data_type) == 0) {
    return absl::InvalidArgumentError("a tensor needs a data type");
  }
  absl::StatusOr<uint64_t> elements = ElementCount(spec);
  if (elements.ok() && !spec.strides.empty()) {
    if (spec.strides.size() != spec.sizes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(spec.strides.size(), " strides do not match ", spec.sizes.size(), " sizes"));
    }
    elements = Extent(spec);
  }
  if (!elements.ok()) return elements.status();
  const std::optional<uint64_t> bytes = Multiply(*elements, SizeOf(spec.data_type));
  if (!bytes) return TooLarge(spec);
  return *bytes;
}

std::vector<uint32_t> PackedStrides(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::string ToString(const TensorSpec& spec) {
  std::string text =
      absl::StrCat(NameOf(spec.data_type), " {", absl::StrJoin(spec.sizes, ", "), "}");
  if (!spec.strides.empty()) {
    absl::StrAppend(&text, " strides {", absl::StrJoin(spec.strides, ", "), "}");
  }
  return text;
}

absl::StatusOr<Tensor> Tensor::FromBytes(TensorSpec spec, std::string bytes) {
  const absl::Status checked = CheckSize(spec, bytes.size());
  if (!checked.ok()) return checked;
  return Tensor(std::move(spec), std::move(bytes));
}

absl::StatusOr<Tensor> Tensor::FromShared(TensorSpec spec, std::span<const std::byte> bytes,
                                          std::shared_ptr<const void> owner) {
  const absl::Status checked = CheckSize(spec, bytes.size());
  if (!checked.ok()) return checked;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % SizeOf(spec.data_type) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory that is not aligned for ", NameOf(spec.data_type)));
  }
  return Tensor(std::move(spec), bytes, std::move(owner));
}

Tensor::Tensor(TensorSpec spec, std::string bytes) : spec_(std::move(spec)) {
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  bytes_ = {owned, reinterpret_cast<const std::byte*>(owned->data())};
  size_ = owned->size();
}

absl::Status Tensor::WrongType(absl::string_view wanted) const {
  return absl::InvalidArgumentError(
      absl::StrCat("the tensor is ", ToString(spec_), ", not ", wanted));
}

absl::StatusOr<std::vector<float>> Tensor::ToFloats() const {
  if (data_type() == DataType::kFloat16) {
    const std::span<const Half> halves = ElementsAs<Half>();
    std::vector<float> floats(halves.size());
    ConvertHalves(halves, floats);
    return floats;
  }
  if (data_type() != DataType::kFloat32) return WrongType("FLOAT32 or FLOAT16");
  const std::span<const float> floats = ElementsAs<float>();
  return std::vector<float>(floats.begin(), floats.end());
}

Tensor Tensor::Packed() const {
  if (spec_.strides.empty()) return *this;
  const size_t element_size = SizeOf(data_type());
  // Elements that are repeated may be more than there is memory for, whatever the bytes are.
  const std::optional<uint64_t> size = Multiply(*ElementCount(spec_), element_size);
  if (!size || *size > std::string().max_size()) throw std::bad_alloc();
  std::string packed(*size, '\0');
  char* to = packed.data();
  Gather(spec_, 0, reinterpret_cast<const char*>(bytes_.get()), element_size, to);
  return Tensor({data_type(), sizes(), {}}, std::move(packed));
}

}  // namespace opserve
