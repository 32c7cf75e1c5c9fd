#include "server/d3d12/dispatch_pieces.h"

#include <algorithm>

namespace opserve::d3d12 {
namespace {

// Direct3D allows so many groups in a dispatch. Where there is more work, each thread takes several
// steps.
constexpr uint64_t kMaxGroups = 65535;

// Pieces begin at multiples of so many blocks: of whatever size blocks are, their bytes are then
// multiples of the alignment.
constexpr uint64_t kUnit = kTensorAlignment;
static_assert(kUnit % hlsl::kThreadsPerGroup == 0, "no group has threads of two pieces");

uint64_t GroupsOf(uint64_t threads) {
  return (threads + hlsl::kThreadsPerGroup - 1) / hlsl::kThreadsPerGroup;
}

// Blocks 0 to `blocks` of whatever the descriptors point to.
DispatchPiece FirstBlocks(const hlsl::KernelKey& kernel, uint64_t blocks) {
  const uint64_t per_step = hlsl::BlocksPerStep(kernel);
  const uint64_t steps = (blocks + per_step - 1) / per_step;
  DispatchPiece piece;
  piece.group_count = static_cast<uint32_t>(std::min(GroupsOf(steps), kMaxGroups));
  piece.block_count = static_cast<uint32_t>(blocks);
  piece.thread_count = piece.group_count * hlsl::kThreadsPerGroup;
  piece.computed_blocks = blocks;
  return piece;
}

// `blocks` blocks of a packed kernel from `first` on.
DispatchPiece PackedPiece(const hlsl::KernelKey& kernel, const Dispatch& dispatch, uint64_t first,
                          uint64_t blocks) {
  const uint64_t elements = first * hlsl::ElementsPerBlock(kernel.output);
  DispatchPiece piece = FirstBlocks(kernel, blocks);
  for (size_t i = 0; i < piece.inputs.size(); ++i) {
    piece.inputs[i] = elements * SizeOf(dispatch.input_types[i]);
  }
  piece.output = elements * SizeOf(kernel.output);
  return piece;
}

// `blocks` blocks of a strided kernel from `first` on, which are no more than those before them.
DispatchPiece StridedPiece(const hlsl::KernelKey& kernel, uint64_t first, uint64_t blocks) {
  if (first == 0) return FirstBlocks(kernel, blocks);
  DispatchPiece piece;
  piece.group_count = static_cast<uint32_t>(GroupsOf(blocks));
  // Of three steps the third one is beyond the end.
  piece.thread_count = static_cast<uint32_t>(first);
  piece.block_count = static_cast<uint32_t>(first + blocks);
  piece.computed_blocks = piece.group_count * hlsl::kThreadsPerGroup + blocks;
  piece.writes_again = true;
  return piece;
}

uint64_t WholeUnits(uint64_t blocks) { return blocks / kUnit * kUnit; }

}  // namespace

std::vector<DispatchPiece> PiecesOf(const hlsl::KernelKey& kernel, const Dispatch& dispatch) {
  const bool is_packed = kernel.layout == hlsl::LayoutClass::kPacked;
  const uint64_t most = std::max(dispatch.most_blocks, kLeastPieceBlocks);
  if (dispatch.block_count <= most) return {FirstBlocks(kernel, dispatch.block_count)};
  std::vector<DispatchPiece> pieces;
  for (uint64_t first = 0; first < dispatch.block_count;) {
    const bool computes_twice = !is_packed && first > 0;
    const uint64_t room = computes_twice
                              ? std::min(WholeUnits(most / 2), kMaxGroups * hlsl::kThreadsPerGroup)
                              : WholeUnits(most);
    const uint64_t blocks = std::min<uint64_t>(room, dispatch.block_count - first);
    pieces.push_back(is_packed ? PackedPiece(kernel, dispatch, first, blocks)
                               : StridedPiece(kernel, first, blocks));
    first += blocks;
  }
  return pieces;
}

}  // namespace opserve::d3d12
