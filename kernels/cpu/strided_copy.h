// File: kernels/cpu/strided_copy.h
//
// Copies of small blocks of elements between layouts. Stateless and safe to use from any thread.

#ifndef OPSERVE_KERNELS_CPU_STRIDED_COPY_H_
#define OPSERVE_KERNELS_CPU_STRIDED_COPY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/feature_level.h"

namespace opserve::cpu {

// One loop of a copy; strides in bytes.
struct CopyLoop {
  uint64_t count = 1;
  uint64_t from_stride = 0;
  uint64_t to_stride = 0;
};

// A nest of loops, innermost first.
struct CopyNest {
  std::array<CopyLoop, kMaxDimensionCount> loops = {};
  int loop_count = 0;
};

// Copies one element of `element_size` bytes (1, 2, 4 or 8) per iteration of the nest, at any
// alignment. Source and target must not overlap.
void CopyStrided(const CopyNest& nest, size_t element_size, const std::byte* from, std::byte* to);

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_STRIDED_COPY_H_
