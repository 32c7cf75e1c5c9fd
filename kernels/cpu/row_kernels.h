// File: kernels/cpu/row_kernels.h
//
// The SIMD kernels of operators that compute rows of elements, compiled once per instruction set
// and chosen at run time. Layouts are dealt with in row_walk.h.

#ifndef OPSERVE_KERNELS_CPU_ROW_KERNELS_H_
#define OPSERVE_KERNELS_CPU_ROW_KERNELS_H_

#include <cstddef>

#include "kernels/data_type.h"
#include "kernels/op_table.h"

namespace opserve::cpu {

// Computes the row `y` from the row `x`: `count` packed elements each, one or more, at any
// alignment, which do not overlap. Touches nothing else. Thread-safe.
using RowKernel = void (*)(const std::byte* x, std::byte* y, size_t count);

// The kernel for the best instruction set of this host; nullptr where the operator computes
// elements each by itself, or does not take such elements at any feature level.
RowKernel GetRowKernel(OpId op, DataType lane);

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_ROW_KERNELS_H_
