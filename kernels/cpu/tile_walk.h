// File: kernels/cpu/tile_walk.h
//
// Runs packed kernels over tensors of any layout. The loop nest of a plan is cut into tiles that
// fit in the first-level cache. Within a tile, operands that lie packed in memory are passed to the
// kernel as they are; others are gathered into a packed buffer, or scattered from one.

#ifndef OPSERVE_KERNELS_CPU_TILE_WALK_H_
#define OPSERVE_KERNELS_CPU_TILE_WALK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/bound_kernel.h"
#include "kernels/plan.h"

namespace opserve::cpu {

// The tiles of a plan. Immutable; tiles may run in any order and from many threads at once.
class TileWalk {
 public:
  // `element_sizes`: bytes per element of the inputs, then of the output. `plan` must outlive the
  // walk.
  TileWalk(const Plan& plan, std::span<const size_t> element_sizes);

  uint64_t tile_count() const { return tile_count_; }

  // Computes tiles `begin` to `end` - 1. The pointers are to the first elements of the operands.
  // Writes elements of the output only, not the gaps between them.
  void Run(const BoundKernel& kernel, std::span<const std::byte* const> inputs, std::byte* output,
           uint64_t begin, uint64_t end) const;

 private:
  struct Position;
  struct Scratch;

  void ChooseTile();
  Position PositionOf(uint64_t tile) const;
  void RunTile(const BoundKernel& kernel, std::span<const std::byte* const> inputs,
               std::byte* output, const Position& at, Scratch& scratch) const;

  const Plan& plan_;
  std::array<size_t, kMaxTensors> element_sizes_ = {};
  std::array<uint64_t, kMaxDimensionCount> tile_ = {};  // iterations per loop in a tile
  std::array<uint64_t, kMaxDimensionCount> tiles_in_loop_ = {};
  uint64_t tile_count_ = 1;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_TILE_WALK_H_
