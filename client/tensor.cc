#include "opserve/tensor.h"

#include <cstring>
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
  const absl::StatusOr<uint64_t> size = ByteSize(spec);
  if (!size.ok()) return size.status();
  if (*size != bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(spec), " needs ", *size, " bytes, not ", bytes.size()));
  }
  return Tensor(std::move(spec), std::make_shared<const std::string>(std::move(bytes)));
}

std::span<const std::byte> Tensor::bytes() const {
  if (storage_ == nullptr) return {};
  return std::as_bytes(std::span<const char>(storage_->data(), storage_->size()));
}

Tensor Tensor::Packed() const {
  if (spec_.strides.empty()) return *this;
  const size_t element_size = SizeOf(data_type());
  std::string packed(*ElementCount(spec_) * element_size, '\0');
  char* to = packed.data();
  Gather(spec_, 0, storage_->data(), element_size, to);
  return Tensor({data_type(), sizes(), {}}, std::make_shared<const std::string>(std::move(packed)));
}

}  // namespace opserve
