// File: kernels/cpu/row_scratch.h
//
// Room for numbers that a kernel keeps from one pass over a row to the next.

#ifndef OPSERVE_KERNELS_CPU_ROW_SCRATCH_H_
#define OPSERVE_KERNELS_CPU_ROW_SCRATCH_H_

#include <cstddef>
#include <span>

namespace opserve::cpu {

// 512 KiB: half of a second-level cache.
inline constexpr size_t kRowScratchSize = size_t{1} << 16;

// The room of the calling thread, at a multiple of 64 bytes. It comes with the thread's first call
// and goes with the thread; what it holds is undefined, and pages that are never written take no
// memory.
std::span<double, kRowScratchSize> RowScratch();

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_ROW_SCRATCH_H_
