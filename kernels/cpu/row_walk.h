// File: kernels/cpu/row_walk.h
//
// Runs kernels of rows over tensors of any layout. A row that lies packed in memory is passed to
// the kernel as it is; others are gathered into a packed buffer, or scattered from one, several
// neighbours at a time where rows are short.

#ifndef OPSERVE_KERNELS_CPU_ROW_WALK_H_
#define OPSERVE_KERNELS_CPU_ROW_WALK_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/row_kernels.h"
#include "kernels/plan.h"

namespace opserve::cpu {

// The rows of a plan of one input. Immutable; rows may run in any order and from many threads at
// once.
class RowWalk {
 public:
  // `element_size`: bytes per element of the input and of the output. `plan` must outlive the walk.
  RowWalk(const Plan& plan, RowKernel kernel, size_t element_size);

  uint64_t row_count() const { return row_count_; }

  // Bytes of the buffers that Run needs.
  uint64_t scratch_bytes() const;

  // Computes rows `begin` to `end` - 1. The pointers are to the first elements of the tensors.
  // Writes elements of the output only, not the gaps between them.
  void Run(const std::byte* input, std::byte* output, uint64_t begin, uint64_t end) const;

 private:
  struct Rows;

  Rows RowsAt(uint64_t row, uint64_t end) const;
  void Gather(const std::byte* from, std::byte* to, uint64_t rows) const;
  void Scatter(const std::byte* from, std::byte* to, uint64_t rows) const;

  const Plan& plan_;
  const RowKernel kernel_;
  const size_t element_size_;
  const uint64_t row_count_;
  const uint64_t row_bytes_;
  // Whether rows of the input and of the output are packed.
  const bool input_is_packed_;
  const bool output_is_packed_;
  // Most rows in a buffer.
  const uint64_t rows_at_once_;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_ROW_WALK_H_
