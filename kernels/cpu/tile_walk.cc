#include "kernels/cpu/tile_walk.h"

#include <algorithm>

#include "kernels/cpu/strided_copy.h"

namespace opserve::cpu {
namespace {

// Bytes of a gathered operand in a tile: four of them fit in a first-level cache.
constexpr size_t kScratchBytes = 8192;

// Iterations of an outer loop in a tile, where some input runs along that loop: enough to use the
// cache lines that its elements share.
constexpr uint64_t kTransposedRun = 32;

// How an operand lies in a tile.
enum class Layout { kPacked, kConstant, kStrided };

}  // namespace

// A tile: its size, and where it starts in every operand, in elements.
struct TileWalk::Position {
  std::array<uint64_t, kMaxDimensionCount> extents = {};
  std::array<uint64_t, kMaxTensors> offsets = {};
  uint64_t element_count = 1;
};

// Packed copies of operands.
struct TileWalk::Scratch {
  alignas(64) std::byte bytes[kMaxTensors][kScratchBytes];
  // The element that a buffer has been filled with; nullptr if it holds something else.
  std::array<const std::byte*, kMaxTensors> filled_with = {};
};

namespace {

// The loops of a tile that iterate, innermost first, with the strides of one operand.
struct OperandLoops {
  struct Loop {
    uint64_t extent;
    uint64_t stride;
  };

  OperandLoops(const Plan& plan, int tensor,
               const std::array<uint64_t, kMaxDimensionCount>& extents) {
    for (int d = plan.loop_count - 1; d >= 0; --d) {
      if (extents[d] > 1) loops[count++] = {extents[d], plan.strides[tensor][d]};
    }
  }

  Layout layout() const {
    bool is_packed = true;
    bool is_constant = true;
    uint64_t packed_stride = 1;
    for (int i = 0; i < count; ++i) {
      is_packed = is_packed && loops[i].stride == packed_stride;
      is_constant = is_constant && loops[i].stride == 0;
      packed_stride *= loops[i].extent;
    }
    return is_packed ? Layout::kPacked : is_constant ? Layout::kConstant : Layout::kStrided;
  }

  std::array<Loop, kMaxDimensionCount> loops;
  int count = 0;
};

// The copy from the operand to packed elements, or back.
CopyNest MakeCopy(const OperandLoops& operand, size_t element_size, bool to_packed) {
  CopyNest nest;
  uint64_t packed_stride = element_size;
  for (int i = 0; i < operand.count; ++i) {
    const uint64_t stride = operand.loops[i].stride * element_size;
    nest.loops[i] = {.count = operand.loops[i].extent,
                     .from_stride = to_packed ? stride : packed_stride,
                     .to_stride = to_packed ? packed_stride : stride};
    packed_stride *= operand.loops[i].extent;
  }
  nest.loop_count = operand.count;
  return nest;
}

// Puts the loop along which the source is densest innermost, so that each cache line of it is read
// at once. Runs of one value or of neighbours stay as they are.
void ReadInAddressOrder(CopyNest& nest, size_t element_size) {
  if (nest.loop_count == 0 || nest.loops[0].from_stride <= element_size) return;
  auto* densest = &nest.loops[0];
  for (int i = 1; i < nest.loop_count; ++i) {
    CopyLoop& loop = nest.loops[i];
    if (loop.from_stride != 0 && loop.from_stride < densest->from_stride) densest = &loop;
  }
  std::swap(*densest, nest.loops[0]);
}

void Fill(std::byte* to, const std::byte* element, size_t element_size) {
  const CopyNest nest = {
      .loops = {CopyLoop{.count = kScratchBytes / element_size, .to_stride = element_size}},
      .loop_count = 1};
  CopyStrided(nest, element_size, element, to);
}

}  // namespace

TileWalk::TileWalk(const Plan& plan, std::span<const size_t> element_sizes) : plan_(plan) {
  std::copy(element_sizes.begin(), element_sizes.end(), element_sizes_.begin());
  ChooseTile();
  for (int d = 0; d < plan_.loop_count; ++d) {
    tiles_in_loop_[d] = (plan_.sizes[d] + tile_[d] - 1) / tile_[d];
    tile_count_ *= tiles_in_loop_[d];
  }
}

void TileWalk::ChooseTile() {
  const int last = plan_.loop_count - 1;
  uint64_t budget = kScratchBytes / *std::max_element(element_sizes_.begin(), element_sizes_.end());
  tile_.fill(1);

  for (int t = 0; t + 1 < plan_.tensor_count; ++t) {
    const auto& strides = plan_.strides[t];
    int densest = last;
    for (int d = 0; d < last; ++d) {
      if (strides[d] != 0 && strides[d] < strides[densest]) densest = d;
    }
    if (densest == last || tile_[densest] > 1) continue;
    tile_[densest] = std::min({plan_.sizes[densest], kTransposedRun, budget});
    budget /= tile_[densest];
  }

  // What is left goes to the inner loops.
  for (int d = last; d >= 0; --d) {
    const uint64_t extent = std::min(plan_.sizes[d], tile_[d] * budget);
    budget = budget * tile_[d] / extent;
    tile_[d] = extent;
    if (extent < plan_.sizes[d]) break;
  }
}

TileWalk::Position TileWalk::PositionOf(uint64_t tile) const {
  Position at;
  for (int d = plan_.loop_count - 1; d >= 0; --d) {
    const uint64_t start = tile % tiles_in_loop_[d] * tile_[d];
    tile /= tiles_in_loop_[d];
    at.extents[d] = std::min(tile_[d], plan_.sizes[d] - start);
    at.element_count *= at.extents[d];
    for (int t = 0; t < plan_.tensor_count; ++t) at.offsets[t] += start * plan_.strides[t][d];
  }
  return at;
}

void TileWalk::Run(const BoundKernel& kernel, std::span<const std::byte* const> inputs,
                   std::byte* output, uint64_t begin, uint64_t end) const {
  Scratch scratch;
  for (uint64_t tile = begin; tile < end; ++tile) {
    RunTile(kernel, inputs, output, PositionOf(tile), scratch);
  }
}

void TileWalk::RunTile(const BoundKernel& kernel, std::span<const std::byte* const> inputs,
                       std::byte* output, const Position& at, Scratch& scratch) const {
  const int output_index = plan_.tensor_count - 1;
  std::array<const std::byte*, kMaxInputs> sources = {};
  for (int t = 0; t < output_index; ++t) {
    const size_t size = element_sizes_[t];
    if (size == 0) continue;  // absent
    const std::byte* first = inputs[t] + at.offsets[t] * size;
    const OperandLoops loops(plan_, t, at.extents);
    const Layout layout = loops.layout();
    if (layout == Layout::kPacked) {
      sources[t] = first;
      continue;
    }
    sources[t] = scratch.bytes[t];
    if (layout == Layout::kStrided) {
      CopyNest gather = MakeCopy(loops, size, /*to_packed=*/true);
      ReadInAddressOrder(gather, size);
      CopyStrided(gather, size, first, scratch.bytes[t]);
      scratch.filled_with[t] = nullptr;
    } else if (scratch.filled_with[t] != first) {
      Fill(scratch.bytes[t], first, size);
      scratch.filled_with[t] = first;
    }
  }

  const size_t size = element_sizes_[output_index];
  std::byte* first = output + at.offsets[output_index] * size;
  const OperandLoops loops(plan_, output_index, at.extents);
  if (loops.layout() == Layout::kPacked) {
    kernel.Run(sources.data(), first, at.element_count, StoreMode::kCached);
  } else {
    std::byte* packed = scratch.bytes[output_index];
    kernel.Run(sources.data(), packed, at.element_count, StoreMode::kCached);
    CopyStrided(MakeCopy(loops, size, /*to_packed=*/false), size, packed, first);
  }
}

}  // namespace opserve::cpu
