// File: kernels/hlsl/kernel_key.h
//
// What names a GPU kernel. Values; safe to use from any thread.

#ifndef OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_
#define OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_

#include <cstdint>
#include <utility>

#include "kernels/op_table.h"

namespace opserve::hlsl {

// Threads of a thread group of every kernel.
inline constexpr uint32_t kThreadsPerGroup = 256;

// Most inputs of operators that have kernels. The plan of a strided one comes behind them.
inline constexpr int kMaxKernelInputs = 3;

// How a kernel walks its tensors: block by block, which is a word of the output, or an element of
// 64 bits.
enum class LayoutClass : uint8_t {
  kPacked,   // all tensors packed
  kStrided,  // any plan
};

// "packed" or "strided".
constexpr absl::string_view NameOf(LayoutClass layout) {
  return layout == LayoutClass::kPacked ? "packed" : "strided";
}

struct KernelKey {
  OpId op = {};
  DataType lane = DataType::kUnknown;
  DataType output = DataType::kUnknown;
  int mode = 0;
  LayoutClass layout = LayoutClass::kPacked;

  bool operator==(const KernelKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const KernelKey& key) {
    return H::combine(std::move(h), key.op, key.lane, key.output, key.mode, key.layout);
  }
};

// Elements of a block.
constexpr uint32_t ElementsPerBlock(DataType output) {
  const auto out = static_cast<uint32_t>(SizeOf(output));
  return out < 4 ? 4 / out : 1;
}

// Whether the kernels of `op` have far more to compute than to move. Families that round do, as a
// rule: their float arithmetic is made of integers. What only compares does not. Remainders do not
// either: on an NVIDIA H200 they take an eighth longer where a thread reads one word at a time.
constexpr bool HasLongBody(const OpTraits& op) {
  switch (op.id) {
    case OpId::ACTIVATION_IDENTITY:
    case OpId::ACTIVATION_RELU:
    case OpId::ACTIVATION_RELU_GRAD:
    case OpId::ACTIVATION_THRESHOLDED_RELU:
      return false;
    default:
      return op.family == OpFamily::kArithmetic || op.family == OpFamily::kActivation ||
             op.family == OpFamily::kElementary;
  }
}

// Blocks that one thread of a kernel reads before it writes the first of them. Where memory is the
// limit, as many as have so many bytes of the widest tensor: what is on its way for all threads
// together is then what the memory can move in the time that a word takes. Others, whose code would
// grow by it, take one at a time.
inline uint32_t BlocksPerStep(const KernelKey& key) {
  constexpr uint32_t kStepBytes = 16;
  const OpTraits& op = TraitsOf(key.op);
  if (key.layout == LayoutClass::kStrided || HasLongBody(op)) return 1;
  auto widest = static_cast<uint32_t>(SizeOf(key.output));
  for (int i = 0; i < op.input_count(); ++i) {
    const auto size = static_cast<uint32_t>(SizeOf(op.InputType(i, key.lane)));
    widest = size > widest ? size : widest;
  }
  const uint32_t block_bytes = ElementsPerBlock(key.output) * widest;
  return block_bytes < kStepBytes ? kStepBytes / block_bytes : 1;
}

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_
