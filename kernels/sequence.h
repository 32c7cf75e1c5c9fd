// File: kernels/sequence.h
//
// A validated sequence of operators: one call per step, where each step's inputs come from, and
// which results are asked for. Made by ValidateSequence(), or PartOf() of such a one; immutable,
// shared between threads.

#ifndef OPSERVE_KERNELS_SEQUENCE_H_
#define OPSERVE_KERNELS_SEQUENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/invocation.h"

namespace opserve {

// Where a tensor that a step works on comes from.
struct TensorSource {
  enum class Kind : uint8_t {
    kAbsent,  // an optional input that is not given
    kInput,   // an input of the sequence
    kStep     // the result of an earlier step
  };
  Kind kind = Kind::kAbsent;
  // Number of the input or of the step.
  uint32_t index = 0;
  bool operator==(const TensorSource&) const = default;
};

// A step: a call whose tensors are inputs of the sequence or results of earlier steps. The call
// never reads beyond the bytes of its sources.
struct SequenceStep {
  std::shared_ptr<const Invocation> call;
  // Per input of the operator, in its order.
  std::array<TensorSource, kMaxInputs> sources = {};
};

// Most steps of a group: bounds the memory of one that runs.
inline constexpr uint32_t kMaxGroupSteps = 64;
// Most tensors that each of them has, likewise.
inline constexpr int kMaxGroupTensors = 4;

// Consecutive steps that run together.
struct StepGroup {
  // The first step, and the one after the last.
  uint32_t begin = 0;
  uint32_t end = 0;
  // Elements that each step computes, and the most results that are alive at a time without being
  // kept; where there is more than one step. Such steps run block by block: see IsFlat.
  uint64_t element_count = 0;
  uint32_t slot_count = 0;

  uint32_t size() const { return end - begin; }
};

// Where the result of a step goes.
struct ResultPlace {
  enum class Kind : uint8_t {
    kOutput,     // an output of the sequence
    kWorkspace,  // memory that later groups read
    kSlot        // one of the blocks of its group
  };
  Kind kind = Kind::kOutput;
  // Number of the output, first byte in the workspace, or number of the slot.
  uint64_t at = 0;
};

// How a sequence runs on the processor.
struct SequencePlan {
  std::vector<StepGroup> groups;
  // Per step.
  std::vector<ResultPlace> results;
  // Bytes of results that must be kept for later groups, at the time when they are most.
  uint64_t workspace_bytes = 0;
};

// How large a sequence is: bytes that come and go at its ends, the number of its steps, and the
// bytes of the inputs and the output of all of them.
struct SequenceSize {
  uint64_t edge_bytes = 0;
  size_t steps = 0;
  uint64_t step_bytes = 0;
};

struct SequenceInvocation {
  // Bytes of each input: what its descriptor needs.
  std::vector<uint64_t> input_bytes;
  // Each uses inputs and earlier steps only.
  std::vector<SequenceStep> steps;
  // Steps whose results are asked for, each once, in the order of the request.
  std::vector<uint32_t> outputs;
  SequencePlan plan;
  // Bytes of all inputs and results: how much work it is. Sums that exceed 64 bits are the highest
  // number.
  uint64_t total_bytes = 0;
  // What it is expected to cost goes by this.
  SequenceSize size;
  // Whether the result may depend on the bits of a NaN that a step computed: kernels/nan_bits.h.
  bool shows_nan_bits = false;
  // Bytes of inputs, outputs and workspace: how much memory it takes on the processor.
  uint64_t held_bytes = 0;

  const Invocation& call(uint32_t step) const { return *steps[step].call; }
  // Bytes of output number `i`.
  uint64_t output_bytes(size_t i) const { return call(outputs[i]).output_bytes; }
};

}  // namespace opserve

#endif  // OPSERVE_KERNELS_SEQUENCE_H_
