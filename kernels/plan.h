// File: kernels/plan.h
//
// Loop plans: the layouts of all tensors of a call, reduced to the smallest loop nest that visits
// every element once. CPU and GPU run the same plan. Plans are values, immutable once made, and
// safe to share between threads.
//
// A plan together with the payload sizes is the memory-safety boundary of opserve: for every tensor
// t the largest offset that the nest reaches, sum((sizes[d] - 1) * strides[t][d]), is the largest
// offset of its descriptor. tests/unit/kernels/plan_test.cc and the fuzzers hold it to that.

#ifndef OPSERVE_KERNELS_PLAN_H_
#define OPSERVE_KERNELS_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/feature_level.h"
#include "kernels/op_table.h"
#include "kernels/tensor_desc.h"

namespace opserve {

// A loop nest over tensors of equal sizes.
struct Plan {
  // Number of loops, 1 to kMaxDimensionCount. Loop 0 is the outermost.
  int loop_count = 1;
  // Number of tensors: the inputs in operator order, then the output.
  int tensor_count = 0;
  // Iterations per loop. Merged dimensions can exceed 32 bits in products, never 64.
  std::array<uint64_t, kMaxDimensionCount> sizes = {};
  // Elements between iterations: strides[tensor][loop]. 0 where an input is broadcast.
  std::array<std::array<uint64_t, kMaxDimensionCount>, kMaxTensors> strides = {};
  // Number of elements that are computed: the product of sizes.
  uint64_t element_count = 0;
  // Whether the output's buffer has elements that the nest never writes; they are returned as zero.
  bool output_has_gaps = false;
  // Where rows of elements are computed together: the first of the loops within a row, in whose
  // order a row is; the loops before it go from row to row. loop_count where a row is one element.
  std::optional<int> row_begin = {};

  // Whether one flat loop with stride 1 everywhere does it all, whose elements are computed each by
  // itself.
  bool is_packed() const;

  // Number of rows and of the elements of each, where there are rows.
  uint64_t row_count() const;
  uint64_t row_length() const;
  // Whether the elements of the tensor that the loops from `first_loop` on visit lie one after the
  // other, in their order.
  bool is_packed_from(int first_loop, int tensor) const;
  // The same for the elements of each row, where there are rows.
  bool has_packed_rows(int tensor) const { return is_packed_from(*row_begin, tensor); }
};

// Makes the plan for `tensors`, the inputs followed by the output, all of the same sizes (each at
// least 1, with a product that fits in 64 bits), and an output that does not overlap itself. Absent
// optional inputs have data_type kUnknown and get strides of 0.
//
// Loops are ordered by the output's strides, so that results are written in address order; loops of
// one iteration are dropped, and neighbours merge where every tensor runs on without a seam.
Plan MakePlan(std::span<const TensorDesc> tensors);

// The same for rows of elements that differ only in the dimensions of `row_dimensions`, a set of
// bits. Within a row elements come as the dimensions do, last one fastest.
Plan MakeRowPlan(std::span<const TensorDesc> tensors, uint32_t row_dimensions);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_PLAN_H_
