// File: kernels/tensor_desc.h
//
// The plain descriptor of a tensor that has passed validation, and the arithmetic on sizes and
// strides that validation and planning share. Every product and sum here is checked for overflow.
// Values are immutable after construction by convention and safe to read from any thread.

#ifndef OPSERVE_KERNELS_TENSOR_DESC_H_
#define OPSERVE_KERNELS_TENSOR_DESC_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/data_type.h"
#include "kernels/feature_level.h"

namespace opserve {

// Data type, sizes and strides of a tensor; the counterpart of DML_BUFFER_TENSOR_DESC.
struct TensorDesc {
  DataType data_type = DataType::kUnknown;
  // Number of dimensions: 1 to kMaxDimensionCount.
  uint8_t dimension_count = 0;
  // Whether strides were given; otherwise `strides` holds the packed strides.
  bool has_strides = false;
  // Elements per dimension, slowest first; the first dimension_count entries count.
  std::array<uint32_t, kMaxDimensionCount> sizes = {};
  // Distance between neighbours in elements, per dimension.
  std::array<uint32_t, kMaxDimensionCount> strides = {};

  std::span<const uint32_t> size_span() const { return {sizes.data(), dimension_count}; }
  std::span<const uint32_t> stride_span() const { return {strides.data(), dimension_count}; }
  bool operator==(const TensorDesc&) const = default;
};

// Product of sizes; nullopt if it exceeds 64 bits. 1 for an empty span.
std::optional<uint64_t> ElementCount(std::span<const uint32_t> sizes);

// Number of elements that the layout spans: sum((size - 1) * stride) + 1. Sizes must be at least 1
// and both spans of one length. nullopt if it exceeds 64 bits.
// Source: DirectML's documentation, DMLCalcBufferTensorSize, with the sum taken in 64 bits.
std::optional<uint64_t> ExtentInElements(std::span<const uint32_t> sizes,
                                         std::span<const uint32_t> strides);

// Bytes that a payload of this layout has: extent * element size, not rounded. nullopt on overflow.
// For a valid descriptor (see validate.h) it always has a value.
std::optional<uint64_t> ExactSizeInBytes(const TensorDesc& desc);

// Rounds up to a multiple of 4, the granularity of DirectML's buffer tensors.
constexpr uint64_t RoundUpToFour(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }

// Fills `strides` with those of the packed layout, last dimension fastest. Strides above 32 bits
// cannot occur where ElementCount fits in 32 bits; otherwise they wrap, so check that first.
void SetPackedStrides(TensorDesc& desc);

// Whether two elements of the layout share an address. Exact where the strides nest like those of a
// padded or transposed tensor, and for every layout of at most 65,536 elements; larger layouts
// whose strides interleave are reported as overlapping.
bool HasOverlap(std::span<const uint32_t> sizes, std::span<const uint32_t> strides);

// A packed descriptor.
TensorDesc PackedDesc(DataType type, std::span<const uint32_t> sizes);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_TENSOR_DESC_H_
