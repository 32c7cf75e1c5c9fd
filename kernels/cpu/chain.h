// File: kernels/cpu/chain.h
//
// Runs a group of flat steps of a sequence block by block: each block of elements goes through all
// steps while it is in the caches, and what lies between the steps never gets to memory.

#ifndef OPSERVE_KERNELS_CPU_CHAIN_H_
#define OPSERVE_KERNELS_CPU_CHAIN_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/bound_kernel.h"
#include "kernels/sequence.h"

namespace opserve::cpu {

// Where the bytes of a sequence are.
struct SequenceMemory {
  // Per input and per output of the sequence.
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  // plan.workspace_bytes bytes.
  std::byte* workspace = nullptr;

  // The result of a step; nullptr if it lives in a block.
  std::byte* ResultOf(const SequenceInvocation& sequence, uint32_t step) const;
  // Input `i` of a step; nullptr if it is absent or lives in a block.
  const std::byte* InputOf(const SequenceInvocation& sequence, uint32_t step, int i) const;
};

// A group of at least two steps, bound to memory. Immutable; ranges may run in any order and from
// many threads at once.
class Chain {
 public:
  // `memory` is not needed any more afterwards, what it refers to is. `store_mode`: how results
  // that no step of the group reads are written. `tables`: of results that need not be computed.
  Chain(const SequenceInvocation& sequence, const StepGroup& group, const SequenceMemory& memory,
        StoreMode store_mode, ResultTables& tables);

  // Computes elements `begin` to `end` - 1 of all steps, or only some of them once `stop` is set.
  // Needs 128 KiB of stack.
  void Run(uint64_t begin, uint64_t end, const std::atomic<bool>& stop) const;

 private:
  // A tensor of a step: in memory, where element i of the group is its element i; or in a slot of
  // the scratch memory, where each block begins anew; or, where it is absent, nowhere.
  struct Operand {
    std::byte* memory = nullptr;
    uint32_t slot = kNoSlot;
    size_t element_size = 0;
  };
  struct Step {
    BoundKernel kernel;
    StoreMode store_mode = StoreMode::kCached;
    int input_count = 0;
    std::array<Operand, kMaxInputs> inputs = {};
    Operand output;
  };
  // One value, of which a slot is full.
  struct Constant {
    const std::byte* value;
    uint32_t slot;
    size_t element_size;
  };
  // What the group reads from memory and does not compute.
  struct Source {
    const std::byte* memory;
    size_t element_size;
    // What each step asks for of a block: together all steps ask for all of it.
    size_t share_bytes = 0;
  };
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  Operand InputOf(const SequenceInvocation& sequence, uint32_t step, int i,
                  const SequenceMemory& memory);
  Operand OutputOf(const SequenceInvocation& sequence, uint32_t step,
                   const SequenceMemory& memory) const;
  void AddSource(const Operand& input);
  void ChooseBlock();
  void FillConstants(std::byte* scratch) const;
  // Asks for share `index` of the sources' block of elements `begin` to `end` - 1.
  void FetchShare(size_t index, uint64_t begin, uint64_t end) const;

  std::vector<Step> steps_;
  std::vector<Constant> constants_;
  std::vector<Source> sources_;
  // Slots of results, then those of constants.
  uint32_t slot_count_ = 0;
  uint64_t block_elements_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_CHAIN_H_
