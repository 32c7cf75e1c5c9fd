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

// How a kernel walks its tensors.
enum class LayoutClass : uint8_t {
  kPacked,   // all tensors packed: blocks of 16 bytes
  kStrided,  // any plan: one word of the output after the other
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

// Whether kernels of the family of `op` round what they compute. Most bodies there are long.
constexpr bool HasArithmetic(const OpTraits& op) {
  return op.family == OpFamily::kArithmetic || op.family == OpFamily::kActivation ||
         op.family == OpFamily::kElementary;
}

// Elements that one thread of a packed kernel computes at a time: 16 bytes of the widest tensor,
// and at least one whole word of the output. Of arithmetic one word.
constexpr uint32_t ElementsPerBlock(const OpTraits& op, DataType lane, DataType output) {
  const auto out = static_cast<uint32_t>(SizeOf(output));
  uint32_t widest = out;
  for (int i = 0; i < op.input_count(); ++i) {
    const auto size = static_cast<uint32_t>(SizeOf(op.InputType(i, lane)));
    widest = size > widest ? size : widest;
  }
  const uint32_t elements = HasArithmetic(op) ? 1 : 16 / widest;
  return elements * out < 4 ? 4 / out : elements;
}

// Elements of the output's address range that one thread of a strided kernel writes at a time: a
// word, or one element of 64 bits.
constexpr uint32_t SlotsPerWord(DataType output) {
  const auto out = static_cast<uint32_t>(SizeOf(output));
  return out < 4 ? 4 / out : 1;
}

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_
