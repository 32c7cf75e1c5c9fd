#include "kernels/tensor_desc.h"

#include <algorithm>
#include <vector>

namespace opserve {
namespace {

struct Dimension {
  uint64_t size;
  uint64_t stride;
};

// Bounds the exact search of irregular layouts; regular ones never get that far.
constexpr uint64_t kMaxSearchedElements = uint64_t{1} << 16;

// Exact answer for a layout of few elements: lists all offsets and looks for equal ones.
bool HasEqualOffsets(std::span<const Dimension> dims) {
  std::vector<uint64_t> offsets = {0};
  for (const Dimension& dim : dims) {
    const size_t count = offsets.size();
    for (uint64_t i = 1; i < dim.size; ++i) {
      for (size_t j = 0; j < count; ++j) offsets.push_back(offsets[j] + i * dim.stride);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace

std::optional<uint64_t> ElementCount(std::span<const uint32_t> sizes) {
  uint64_t count = 1;
  for (uint32_t size : sizes) {
    if (__builtin_mul_overflow(count, uint64_t{size}, &count)) return std::nullopt;
  }
  return count;
}

std::optional<uint64_t> ExtentInElements(std::span<const uint32_t> sizes,
                                         std::span<const uint32_t> strides) {
  uint64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // The product of two 32-bit factors cannot overflow; the sum of several can.
    const uint64_t step = uint64_t{sizes[i] - 1} * strides[i];
    if (__builtin_add_overflow(last, step, &last)) return std::nullopt;
  }
  if (__builtin_add_overflow(last, uint64_t{1}, &last)) return std::nullopt;
  return last;
}

std::optional<uint64_t> ExactSizeInBytes(const TensorDesc& desc) {
  const std::optional<uint64_t> extent = ExtentInElements(desc.size_span(), desc.stride_span());
  uint64_t bytes = 0;
  if (!extent || __builtin_mul_overflow(*extent, SizeOf(desc.data_type), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

void SetPackedStrides(TensorDesc& desc) {
  uint64_t stride = 1;
  for (int i = desc.dimension_count - 1; i >= 0; --i) {
    desc.strides[i] = static_cast<uint32_t>(stride);
    stride *= desc.sizes[i];
  }
}

bool HasOverlap(std::span<const uint32_t> sizes, std::span<const uint32_t> strides) {
  std::vector<Dimension> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) dims.push_back({sizes[i], strides[i]});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });

  // Where each stride exceeds the reach of all smaller ones, offsets are unique like digits of a
  // number. Sums stay below 2^67 / 8 dimensions, so saturate instead of wrapping.
  uint64_t reach = 0;
  bool nested = true;
  for (const Dimension& dim : dims) {
    if (dim.stride == 0) return true;
    nested = nested && dim.stride > reach;
    if (__builtin_add_overflow(reach, (dim.size - 1) * dim.stride, &reach)) reach = UINT64_MAX;
  }
  if (nested) return false;

  uint64_t elements = 1;
  for (const Dimension& dim : dims) {
    if (__builtin_mul_overflow(elements, dim.size, &elements) || elements > kMaxSearchedElements) {
      return true;
    }
  }
  return HasEqualOffsets(dims);
}

TensorDesc PackedDesc(DataType type, std::span<const uint32_t> sizes) {
  TensorDesc desc;
  desc.data_type = type;
  desc.dimension_count = static_cast<uint8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), desc.sizes.begin());
  SetPackedStrides(desc);
  return desc;
}

}  // namespace opserve
