// File: server/d3d12/dispatch_pieces.h
//
// Dispatches in pieces that a device finishes soon enough: systems reset a GPU that is at work on
// one command for too long, Windows after two seconds. Pure arithmetic on the host, and with
// dispatch.h the memory-safety boundary.
//
// Kernels have no constant that says at which block a command begins, and need none. Those of
// packed tensors are given later addresses. Those of strided tensors compute a place from the
// number of its block, so they keep their addresses, and a piece computes its blocks as the second
// ones of its threads: thread i takes block i, and then block i + thread_count. What it writes
// first is what is there already.

#ifndef OPSERVE_SERVER_D3D12_DISPATCH_PIECES_H_
#define OPSERVE_SERVER_D3D12_DISPATCH_PIECES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/hlsl/kernel_key.h"
#include "server/d3d12/dispatch.h"

namespace opserve::d3d12 {

// A piece has no fewer blocks than this, however long they take: two groups of threads, one of them
// for blocks that are computed again.
inline constexpr uint64_t kLeastPieceBlocks = 2 * hlsl::kThreadsPerGroup;

// One command of a dispatch.
struct DispatchPiece {
  uint32_t group_count = 0;
  // The root constants that the kernel reads.
  uint32_t block_count = 0;
  uint32_t thread_count = 0;
  // Bytes by which the root descriptors point behind those of the dispatch; multiples of
  // kTensorAlignment.
  std::array<uint64_t, hlsl::kMaxKernelInputs> inputs = {};
  uint64_t output = 0;
  // Blocks that its threads compute, those included that an earlier piece has computed.
  uint64_t computed_blocks = 0;
  // Whether it writes words that an earlier piece has written: what has to stand between them does
  // not have to stand between others.
  bool writes_again = false;
};

// The pieces of `dispatch`, in their order: together they compute its blocks, and each computes at
// most dispatch.most_blocks, or kLeastPieceBlocks where that is more. One piece where that is
// enough. Thread-safe.
std::vector<DispatchPiece> PiecesOf(const hlsl::KernelKey& kernel, const Dispatch& dispatch);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_DISPATCH_PIECES_H_
