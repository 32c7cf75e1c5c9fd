// File: kernels/cpu/piece_walk.h
//
// Runs a flat kernel over tensors whose bytes lie in pieces, without bringing them together first;
// where wanted, the result takes the place of an input.

#ifndef OPSERVE_KERNELS_CPU_PIECE_WALK_H_
#define OPSERVE_KERNELS_CPU_PIECE_WALK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/bound_kernel.h"
#include "kernels/op_table.h"
#include "kernels/tensor_bytes.h"

namespace opserve::cpu {

// A packed call, bound to memory. Immutable; ranges that do not overlap may run in any order and
// from many threads at once.
class PieceWalk {
 public:
  // `element_sizes`: bytes per element of the inputs, absent ones included, then of the output. The
  // result goes to `output`. What the inputs refer to must outlive the walk.
  PieceWalk(const BoundKernel& kernel, StoreMode store_mode, std::span<const TensorBytes> inputs,
            std::span<const size_t> element_sizes, uint64_t element_count, std::byte* output);

  // The result takes the place of the bytes of input `target`, whose elements are as large as its
  // own. They must be writable, although they are given as an input.
  PieceWalk(const BoundKernel& kernel, std::span<const TensorBytes> inputs,
            std::span<const size_t> element_sizes, uint64_t element_count, size_t target);

  // Computes elements `begin` to `end` - 1.
  void Run(uint64_t begin, uint64_t end) const;

 private:
  using Piece = std::span<const std::byte>;
  struct Input {
    // 0 where the input is absent.
    size_t element_size = 0;
    // Never empty where the input is present.
    std::vector<Piece> pieces;
    // How many bytes come before each piece.
    std::vector<uint64_t> starts;
  };
  class Cursor;

  PieceWalk(const BoundKernel& kernel, StoreMode store_mode, std::span<const TensorBytes> inputs,
            std::span<const size_t> element_sizes, uint64_t element_count);

  void RunDivided(std::array<Cursor, kMaxInputs>& cursors, uint64_t at) const;
  std::byte* OutputAt(uint64_t at, const std::array<const std::byte*, kMaxInputs>& inputs) const;

  const BoundKernel kernel_;
  const StoreMode store_mode_;
  std::array<Input, kMaxInputs> inputs_;
  size_t input_count_ = 0;
  std::byte* output_ = nullptr;  // nullptr: in place of input target_
  size_t target_ = 0;
  size_t output_element_size_ = 0;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_PIECE_WALK_H_
