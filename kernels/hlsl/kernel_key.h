// File: kernels/hlsl/kernel_key.h
//
// What names a GPU kernel. Values; safe to use from any thread.

#ifndef OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_
#define OPSERVE_KERNELS_HLSL_KERNEL_KEY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/invocation.h"
#include "kernels/op_table.h"

namespace opserve::hlsl {

// Threads of a thread group of every kernel.
inline constexpr uint32_t kThreadsPerGroup = 256;

// Most inputs of operators that have kernels.
inline constexpr int kMaxKernelInputs = 8;

// Most of them whose elements have places of their own: others have a single element.
inline constexpr int kMaxStridedInputs = 3;

// The register of the plan of a strided kernel, and that of input `i`: the plan comes behind the
// third one.
inline constexpr int kPlanRegister = 3;
constexpr int InputRegister(int i) { return i < kPlanRegister ? i : i + 1; }

// Where in a row of the plan, and in a kernel's offsets, the stride of input `i` is; nullopt where
// it is 0 because the input has a single element.
constexpr std::optional<int> StridePosition(const OpTraits& op, int i) {
  if (op.inputs[i].is_single) return std::nullopt;
  int position = 0;
  for (int before = 0; before < i; ++before) position += op.inputs[before].is_single ? 0 : 1;
  return position;
}

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

// Whether the operator has kernels of this layout: those of rows take any plan.
constexpr bool HasLayout(const OpTraits& op, LayoutClass layout) {
  return layout == LayoutClass::kStrided || !op.shape.is_row;
}

// What a dispatch of a kernel of rows does.
enum class RowStage : uint32_t {
  kLargest,  // leaves records of the largest elements
  kSums,     // leaves records of sums of powers
  kResults,  // computes the elements of the result
};

// What such a dispatch reads in place of attributes, which kernels of rows need none of. Places are
// in words from the beginning of the output on, behind the result.
struct RowConstants {
  RowStage stage = RowStage::kResults;
  // Plan::row_begin.
  uint32_t first_row_loop = 0;
  // Elements or records of a row, and the records that become of them.
  uint32_t input_count = 0;
  uint32_t part_count = 0;
  // The records that it reads; kNoRecords: it reads elements.
  uint32_t inputs_at = 0;
  // The records that it writes.
  uint32_t records_at = 0;
  // Those of whole rows, where earlier stages have left them.
  uint32_t largest_at = 0;
  uint32_t sums_at = 0;

  static constexpr uint32_t kNoRecords = UINT32_MAX;
  static constexpr uint32_t kLargestWords = 2;
  static constexpr uint32_t kSumWords = 8;

  // As root constants take attributes, those of the first line of four in the low words.
  constexpr AttributeValues values() const {
    const auto pair = [](uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; };
    return {pair(static_cast<uint32_t>(stage), inputs_at), pair(first_row_loop, records_at),
            pair(input_count, largest_at), pair(part_count, sums_at)};
  }
};

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

// The types of the inputs that are numbers of types of their own (OpShape::is_number), as kernels
// read them: a byte of the first or second word for each, 0 where it is no such number or absent.
// kernels/hlsl/typed_numbers.hlsli says what the bits mean.
constexpr std::array<uint32_t, 2> NumberTypesOf(
    const OpTraits& op, const std::array<DataType, kMaxKernelInputs>& types) {
  std::array<uint32_t, 2> words = {};
  for (int i = 0; i < op.input_count(); ++i) {
    const DataType type = types[i];
    if (!op.shape.is_number(i) || type == DataType::kUnknown) continue;
    const bool is_signed =
        type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32;
    const uint32_t bits =
        static_cast<uint32_t>(SizeOf(type)) | (is_signed ? 8 : 0) | (IsFloat(type) ? 16 : 0);
    words[i / 4] |= bits << i % 4 * 8;
  }
  return words;
}

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
             op.family == OpFamily::kElementary || op.family == OpFamily::kQuantization;
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
