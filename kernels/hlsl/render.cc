#include "kernels/hlsl/render.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/hlsl/expressions.h"

namespace opserve::hlsl {
namespace {

bool IsSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

// One operand or the result of a kernel.
struct Tensor {
  char letter;
  DataType type;
  bool is_condition = false;
  // Whether the call tells the type, and elements are computed with as Numbers.
  bool is_number = false;
  size_t size() const { return SizeOf(type); }
  // HLSL's type of one element.
  absl::string_view value_type() const {
    return is_number ? "Number" : size() == 8 ? "uint2" : "uint";
  }
};

struct Kernel {
  const OpTraits& op;
  KernelKey key;
  std::vector<Tensor> inputs;
  Tensor output;
};

Kernel KernelOf(const KernelKey& key) {
  const OpTraits& op = TraitsOf(key.op);
  // Bits are read and written as unsigned ones.
  const auto as_seen = [&](DataType type) {
    return op.shape.is_bitwise ? UnsignedOfSameSize(type) : type;
  };
  Kernel kernel{op, key, {}, {'z', as_seen(key.output)}};
  for (int i = 0; i < op.input_count(); ++i) {
    kernel.inputs.push_back({op.shape.operands[i], as_seen(op.InputType(i, key.lane)),
                             op.shape.is_condition(i), op.shape.is_number(i)});
  }
  return kernel;
}

// Whether attributes are of the lane type, which may have 64 bits.
bool HasScalars(const OpTraits& op) {
  return std::any_of(op.attributes.begin(), op.attributes.end(), [](const auto& attribute) {
    return attribute.kind == AttributeKind::kScalar;
  });
}

// Macros that the bodies look at.
std::string LaneMacros(const Kernel& kernel) {
  const DataType lane =
      kernel.op.shape.is_bitwise ? UnsignedOfSameSize(kernel.key.lane) : kernel.key.lane;
  std::string text = absl::StrCat("#define LANE_BITS ", SizeOf(lane) * 8, "\n",
                                  "#define LANE_IS_SIGNED ", IsSigned(lane) ? 1 : 0, "\n");
  if (lane == DataType::kFloat32) absl::StrAppend(&text, "#define MANTISSA_BITS 23\n");
  if (lane == DataType::kFloat16) absl::StrAppend(&text, "#define MANTISSA_BITS 10\n");
  if (kernel.op.shape.tells_integers) {
    // The type of the second input, as the call tells it.
    absl::StrAppend(&text, "#define EXPONENT_TYPE (number_types.x >> 8 & 0xff)\n");
  }
  if (HasScalars(kernel.op)) {
    // A FLOAT16 is given as the FLOAT32 that it is.
    absl::StrAppend(&text, "#define SCALAR(i) ",
                    lane == DataType::kFloat16 ? "Narrowed(p[i])"
                    : SizeOf(lane) == 8        ? "uint2(p[i], p_high[i])"
                                               : "p[i]",
                    "\n");
  }
  if (kernel.op.shape.is_row) {
    absl::StrAppend(&text, "#define ROW_HAS_SUMS ", LeavesOpen(kernel.op.id) ? 1 : 0, "\n");
  }
  return absl::StrCat(text, "#define kMode ", kernel.key.mode, "\n\n");
}

bool HasNumbers(const OpTraits& op) { return op.shape.number_input() < op.input_count(); }

std::string Bindings(const Kernel& kernel) {
  std::string text =
      "cbuffer Constants : register(b0) {\n"
      "  uint block_count;\n"
      "  uint thread_count;\n"
      "  uint loop_count;\n"
      "  uint open_mark;\n";
  absl::StrAppend(&text, kernel.op.shape.is_row ? "  uint stage;\n"
                                                  "  uint first_row_loop;\n"
                                                  "  uint input_count;\n"
                                                  "  uint part_count;\n"
                                                  "  uint inputs_at;\n"
                                                  "  uint records_at;\n"
                                                  "  uint largest_at;\n"
                                                  "  uint sums_at;\n"
                                                : "  uint4 p;\n");
  const bool has_numbers = HasNumbers(kernel.op);
  if (HasScalars(kernel.op) || has_numbers) absl::StrAppend(&text, "  uint4 p_high;\n");
  absl::StrAppend(&text, has_numbers ? "  uint2 number_types;\n};\n" : "};\n");
  for (int i = 0; i < kernel.op.input_count(); ++i) {
    absl::StrAppend(&text, "ByteAddressBuffer Input", i, " : register(t", InputRegister(i), ");\n");
  }
  if (kernel.key.layout == LayoutClass::kStrided) {
    absl::StrAppend(&text, "ByteAddressBuffer Plan : register(t", kPlanRegister, ");\n");
  }
  // Which kernels of rows read as well: the compiler lets them read no raw one.
  absl::StrAppend(&text,
                  kernel.op.shape.is_row ? "RWStructuredBuffer<uint>" : "RWByteAddressBuffer",
                  " Output : register(u0);\n");
  return absl::StrCat(
      text, LeavesOpen(kernel.op.id) ? "RWByteAddressBuffer Open : register(u1);\n\n" : "\n");
}

// A function for each input that holds numbers, which reads one of them.
std::string NumberFunctions(const Kernel& kernel) {
  std::string text;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (!kernel.inputs[i].is_number) continue;
    absl::StrAppend(&text, "Number Number", i, "(uint place) {\n  const uint type = number_types.",
                    i < 4 ? "x" : "y", " >> ", i % 4 * 8,
                    " & 0xff;\n"
                    "  const uint byte = place * BytesOf(type);\n"
                    "  return TypedNumber(Input",
                    i, ".Load(byte & ~3u) >> (byte & 3) * 8, type);\n}\n\n");
  }
  return text;
}

// A function that computes one element from its operands.
std::string ElementFunction(const Kernel& kernel) {
  const std::string operands =
      absl::StrJoin(kernel.inputs, ", ", [](std::string* out, const Tensor& input) {
        absl::StrAppend(out, input.is_condition ? "bool" : input.value_type(), " ",
                        absl::string_view(&input.letter, 1));
      });
  // Elements of rows are told which row it is, and their place in it.
  return absl::StrCat(kernel.output.value_type(), " Element(", operands,
                      kernel.op.shape.is_row ? ", uint row, uint place" : "", ") { return ",
                      ExpressionOf(kernel.key.op),
                      kernel.op.shape.result == OpResult::kFlag ? " ? 1 : 0" : "", "; }\n\n");
}

// The element of `tensor` that begins at bit `shift` of the word, or the two words, given.
std::string Extract(const Tensor& tensor, absl::string_view words, absl::string_view shift) {
  std::string value(words);
  if (tensor.size() < 4) {
    value = absl::StrCat(IsSigned(tensor.type) ? "Int" : "Uint", tensor.size() * 8, "(", words,
                         ", ", shift, ")");
  }
  return tensor.is_condition ? absl::StrCat(value, " != 0") : value;
}

// The number of input `index` that is so many elements behind its first one.
std::string NumberAt(size_t index, absl::string_view elements) {
  return absl::StrCat("Number", index, "(", elements, ")");
}

// The word that holds the given elements of the output.
std::string Pack(const Tensor& output, const std::vector<std::string>& elements) {
  if (output.size() >= 4) return elements[0];
  return absl::StrCat("Pack", output.size() * 8, "(", absl::StrJoin(elements, ",\n          "),
                      ")");
}

// A block as the text names it.
struct Block {
  std::string number;  // the variable that has its number
  std::string suffix;  // of the names of its words
};

// The block `index` of those that a thread reads together.
Block BlockOfStep(uint32_t index) {
  if (index == 0) return {"block", ""};
  return {absl::StrCat("block", index), absl::StrCat("_", index)};
}

// The variable that has words 4 * i to 4 * i + 3 of a tensor of a block.
std::string VectorName(const Tensor& tensor, const Block& block, size_t i) {
  return absl::StrCat(absl::string_view(&tensor.letter, 1), i, block.suffix);
}

// One of its words: x0.x, x0.y, ...
std::string WordName(const Tensor& tensor, const Block& block, size_t word) {
  return absl::StrCat(VectorName(tensor, block, word / 4), ".",
                      absl::string_view("xyzw").substr(word % 4, 1));
}

// The suffix of a load or store of `words` words: none, 2, 3 or 4.
std::string Width(size_t words) { return words == 1 ? "" : absl::StrCat(words); }

uint32_t ElementsPerBlock(const Kernel& kernel) {
  return hlsl::ElementsPerBlock(kernel.output.type);
}

// Bytes of input `index` in a block.
size_t BlockBytes(const Kernel& kernel, size_t index) {
  return ElementsPerBlock(kernel) * kernel.inputs[index].size();
}

// Reads what one block has of input `index`; not numbers, which are read one by one.
std::string LoadInput(const Kernel& kernel, size_t index, const Block& block) {
  const Tensor& input = kernel.inputs[index];
  if (input.is_number) return "";
  const size_t bytes = BlockBytes(kernel, index);
  if (bytes < 4) {
    return absl::StrCat("    const uint ", VectorName(input, block, 0), " = Input", index, ".Load(",
                        block.number, " * ", bytes, " & ~3u) >> (", block.number, " * ", bytes,
                        " & 3) * 8;\n");
  }
  std::string text;
  for (size_t word = 0; word < bytes / 4; word += 4) {
    const size_t count = std::min<size_t>(4, bytes / 4 - word);
    absl::StrAppend(&text, "    const uint", Width(count), " ", VectorName(input, block, word / 4),
                    " = Input", index, ".Load", Width(count), "(", block.number, " * ", bytes,
                    word == 0 ? "" : absl::StrCat(" + ", word * 4), ");\n");
  }
  return text;
}

// Reads one block.
std::string LoadBlock(const Kernel& kernel, const Block& block) {
  std::string text;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    absl::StrAppend(&text, LoadInput(kernel, i, block));
  }
  return text;
}

// Element `index` of what LoadInput read.
std::string ElementOfBlock(const Tensor& input, const Block& block, size_t index) {
  const size_t at = index * input.size();
  std::string words = WordName(input, block, at / 4);
  if (input.size() == 8) {
    words = absl::StrCat("uint2(", words, ", ", WordName(input, block, at / 4 + 1), ")");
  }
  return Extract(input, words, absl::StrCat(at % 4 * 8));
}

// A call of the body for element `index` of a block.
std::string CallOfBlock(const Kernel& kernel, const Block& block, size_t index) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Tensor& input = kernel.inputs[i];
    operands.push_back(input.is_number ? NumberAt(i, block.number)
                                       : ElementOfBlock(input, block, index));
  }
  return absl::StrCat("Element(", absl::StrJoin(operands, ", "), ")");
}

// Computes a block that has been read, and writes it.
std::string StoreBlock(const Kernel& kernel, const Block& block) {
  std::vector<std::string> elements;
  for (size_t i = 0; i < ElementsPerBlock(kernel); ++i) {
    elements.push_back(CallOfBlock(kernel, block, i));
  }
  const size_t bytes = elements.size() * kernel.output.size();
  return absl::StrCat("    Output.Store", Width(bytes / 4), "(", block.number, " * ", bytes, ", ",
                      Pack(kernel.output, elements), ");\n");
}

// A thread that left an element open marks the submission with its number, which no other one has
// left in that word.
absl::string_view MarkOpen(const Kernel& kernel) {
  return LeavesOpen(kernel.op.id) ? "  if (is_open) Open.Store(0, open_mark);\n" : "";
}

// The text of main around `loops`, with further parameters.
std::string Main(const Kernel& kernel, absl::string_view loops, absl::string_view parameters = "") {
  return absl::StrCat("[numthreads(", kThreadsPerGroup,
                      ", 1, 1)]\n"
                      "void main(uint3 id : SV_DispatchThreadID",
                      parameters, ") {\n", loops, MarkOpen(kernel), "}\n");
}

// The loop over the blocks of a thread around `body`.
std::string LoopOverBlocks(absl::string_view body) {
  return absl::StrCat("  for (uint block = id.x; block < block_count; block += thread_count) {\n",
                      body, "  }\n");
}

// The loops of a packed kernel that is bound by memory. Neighbouring threads read and write
// neighbouring words, and the blocks of a thread lie thread_count apart. As long as there are
// enough of them it reads several before it writes the first.
std::string LoopsOverSteps(const Kernel& kernel, uint32_t step) {
  std::string text =
      absl::StrCat("  uint block = id.x;\n  for (; block + ", step - 1,
                   " * thread_count < block_count; block += ", step, " * thread_count) {\n");
  for (uint32_t i = 1; i < step; ++i) {
    absl::StrAppend(&text, "    const uint ", BlockOfStep(i).number, " = ",
                    BlockOfStep(i - 1).number, " + thread_count;\n");
  }
  for (uint32_t i = 0; i < step; ++i) absl::StrAppend(&text, LoadBlock(kernel, BlockOfStep(i)));
  for (uint32_t i = 0; i < step; ++i) absl::StrAppend(&text, StoreBlock(kernel, BlockOfStep(i)));
  const Block block = BlockOfStep(0);
  return absl::StrCat(text, "  }\n  for (; block < block_count; block += thread_count) {\n",
                      LoadBlock(kernel, block), StoreBlock(kernel, block), "  }\n");
}

// Whether threads have less than a word of input `index` in a block, and whole words in `step`
// blocks.
bool IsNarrow(const Kernel& kernel, size_t index, uint32_t step) {
  const size_t bytes = BlockBytes(kernel, index);
  return bytes < 4 && bytes * step % 4 == 0;
}

bool HasNarrowInput(const Kernel& kernel, uint32_t step) {
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (IsNarrow(kernel, i, step)) return true;
  }
  return false;
}

// "shared_c", the words of a narrow input that the threads of a group read for each other.
std::string SharedName(const Tensor& tensor) {
  return absl::StrCat("shared_", absl::string_view(&tensor.letter, 1));
}

std::string SharedWords(const Kernel& kernel, uint32_t step) {
  std::string text;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (!IsNarrow(kernel, i, step)) continue;
    absl::StrAppend(&text, "groupshared uint ", SharedName(kernel.inputs[i]), "[",
                    kThreadsPerGroup * step * BlockBytes(kernel, i) / 4, "];\n");
  }
  return text;
}

// Reads the words of a narrow input that are this thread's to read.
std::string ShareInput(const Kernel& kernel, size_t index, uint32_t step) {
  std::string text;
  const size_t bytes = BlockBytes(kernel, index);
  for (size_t word = 0; word < step * bytes / 4; ++word) {
    const std::string place = absl::StrCat("thread + ", word * kThreadsPerGroup);
    absl::StrAppend(&text, "      ", SharedName(kernel.inputs[index]), "[", place, "] = Input",
                    index, ".Load(first * ", bytes, " + (", place, ") * 4);\n");
  }
  return text;
}

// What block `i` of a step has of a narrow input.
std::string LoadShared(const Kernel& kernel, size_t index, uint32_t i) {
  const Tensor& input = kernel.inputs[index];
  const Block block = BlockOfStep(i);
  const size_t bytes = BlockBytes(kernel, index);
  return absl::StrCat("    const uint ", VectorName(input, block, 0), " = ", SharedName(input),
                      "[(thread + ", i * kThreadsPerGroup, ") * ", bytes, " / 4] >> (",
                      block.number, " * ", bytes, " & 3) * 8;\n");
}

// The steps of a kernel with narrow inputs. Neighbouring threads would all read a word of these,
// and so many reads are what limits the kernel; so one of them reads it for the group. The blocks
// of a group lie side by side, and those of a thread as far apart as the group has threads.
std::string LoopOverSharedSteps(const Kernel& kernel, uint32_t step) {
  std::string reads;
  std::string shared;
  std::string stores;
  for (size_t input = 0; input < kernel.inputs.size(); ++input) {
    if (IsNarrow(kernel, input, step)) reads += ShareInput(kernel, input, step);
  }
  for (uint32_t i = 0; i < step; ++i) {
    const Block block = BlockOfStep(i);
    if (i > 0) {
      absl::StrAppend(&reads, "    const uint ", block.number, " = block + ", i * kThreadsPerGroup,
                      ";\n");
    }
    for (size_t input = 0; input < kernel.inputs.size(); ++input) {
      const bool is_narrow = IsNarrow(kernel, input, step);
      (is_narrow ? shared : reads) +=
          is_narrow ? LoadShared(kernel, input, i) : LoadInput(kernel, input, block);
    }
    stores += StoreBlock(kernel, block);
  }
  const Block block = BlockOfStep(0);
  return absl::StrCat(
      "  for (uint first = (id.x - thread) * ", step, "; first < block_count; first += ", step,
      " * thread_count) {\n"
      "    uint block = first + thread;\n"
      "    if (first + ",
      kThreadsPerGroup * step - 1,
      " < block_count) {\n"
      "    GroupMemoryBarrierWithGroupSync();\n",
      reads, "    GroupMemoryBarrierWithGroupSync();\n", shared, stores,
      "    } else {\n    for (; block < block_count; block += ", kThreadsPerGroup, ") {\n",
      LoadBlock(kernel, block), StoreBlock(kernel, block), "    }\n    }\n  }\n");
}

// The body, which is long, is in the text once.
std::string StoreLongBlock(const Kernel& kernel, const Block& block) {
  if (kernel.output.size() >= 4) return StoreBlock(kernel, block);
  const size_t bits = kernel.output.size() * 8;
  std::vector<std::string> operands;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Tensor& input = kernel.inputs[i];
    operands.push_back(
        input.is_number
            ? NumberAt(i, absl::StrCat(block.number, " * ", 32 / bits, " + i"))
            : Extract(input, WordName(input, block, 0), absl::StrCat("i * ", input.size() * 8)));
  }
  return absl::StrCat(
      "    uint word = 0;\n"
      "    [loop]\n"
      "    for (uint i = 0; i < ",
      32 / bits, "; ++i) {\n      word |= (Element(", absl::StrJoin(operands, ", "), ") & ",
      (1u << bits) - 1, ") << i * ", bits, ";\n    }\n    Output.Store(block * 4, word);\n");
}

std::string PackedMain(const Kernel& kernel) {
  const uint32_t step = BlocksPerStep(kernel.key);
  if (step > 1 && HasNarrowInput(kernel, step)) {
    return absl::StrCat(SharedWords(kernel, step), Main(kernel, LoopOverSharedSteps(kernel, step),
                                                        ", uint thread : SV_GroupIndex"));
  }
  if (step > 1) return Main(kernel, LoopsOverSteps(kernel, step));
  const Block block = BlockOfStep(0);
  return Main(kernel,
              LoopOverBlocks(absl::StrCat(LoadBlock(kernel, block),
                                          HasLongBody(kernel.op) ? StoreLongBlock(kernel, block)
                                                                 : StoreBlock(kernel, block))));
}

// The element of input `index` at the offset that a strided kernel has found.
std::string ElementAtOffset(const Kernel& kernel, int index) {
  const Tensor& input = kernel.inputs[static_cast<size_t>(index)];
  const std::optional<int> position = StridePosition(kernel.op, index);
  const std::string offset =
      position ? absl::StrCat("offset.", absl::string_view("xyz").substr(*position, 1)) : "0";
  if (input.is_number) return NumberAt(static_cast<size_t>(index), offset);
  const std::string byte = absl::StrCat(offset, " * ", input.size());
  if (input.size() == 8) return absl::StrCat("Input", index, ".Load2(", byte, ")");
  if (input.size() == 4) return absl::StrCat("Input", index, ".Load(", byte, ")");
  return Extract(input, absl::StrCat("Input", index, ".Load(", byte, " & ~3u)"),
                 absl::StrCat("(", byte, " & 3) * 8"));
}

// Kernels that are wrong on Mesa 22.3's software adapter, as tests show, where loops of their
// bodies are within the condition for gaps, within the loop over the elements of a word. Others are
// wrong where they are not.
bool ComputesGaps(const Kernel& kernel) {
  constexpr OpId kOps[] = {OpId::ACTIVATION_PARAMETRIC_SOFTPLUS,
                           OpId::ACTIVATION_SOFTPLUS,
                           OpId::ACTIVATION_SOFTMAX,
                           OpId::ACTIVATION_SOFTMAX1,
                           OpId::ELEMENT_WISE_ATAN_YX,
                           OpId::ELEMENT_WISE_CONSTANT_POW};
  const bool is_integer_power =
      kernel.op.id == OpId::ELEMENT_WISE_POW && !IsFloat(kernel.output.type);
  return kernel.output.size() < 4 &&
         (is_integer_power || absl::c_linear_search(kOps, kernel.op.id));
}

// What belongs to the place that SlotFunction has found: zero in a gap.
std::string ValueOfSlot(const Kernel& kernel, const std::vector<std::string>& operands) {
  const absl::string_view type = kernel.output.value_type();
  if (ComputesGaps(kernel)) {
    // In gaps it is that of the first elements that comes to nothing.
    return absl::StrCat(
        "const bool is_element = !is_gap && rest == 0;\n"
        "  if (!is_element) offset = 0;\n"
        "  const ",
        type, " value = Element(", absl::StrJoin(operands, ",\n                    "),
        ");\n"
        "  return is_element ? value : 0;\n");
  }
  return absl::StrCat(type,
                      " value = 0;\n"
                      "  if (!is_gap && rest == 0) {\n"
                      "    value = Element(",
                      absl::StrJoin(operands, ",\n                    "),
                      ");\n"
                      "  }\n"
                      "  return value;\n");
}

// A function that finds the coordinates of a place in the output, and computes what belongs there.
// A loop of the plan has 32 bytes: size, stride of the output, strides of the inputs.
std::string SlotFunction(const Kernel& kernel) {
  std::vector<std::string> operands;
  for (int i = 0; i < kernel.op.input_count(); ++i) {
    operands.push_back(ElementAtOffset(kernel, i));
  }
  // As if they were inputs: the plan has their strides.
  if (kernel.op.shape.is_row) operands.insert(operands.end(), {"offset.y", "offset.z"});
  return absl::StrCat(kernel.output.value_type(),
                      " Slot(uint rest) {\n"
                      "  bool is_gap = false;\n"
                      "  uint3 offset = 0;\n"
                      "  for (uint i = 0; i < loop_count; ++i) {\n"
                      "    const uint4 nest = Plan.Load4(i * 32);\n"
                      "    const uint index = rest / nest.y;\n"
                      "    rest -= index * nest.y;\n"
                      "    is_gap = is_gap || index >= nest.x;\n"
                      "    offset += index * uint3(nest.zw, Plan.Load(i * 32 + 16));\n"
                      "  }\n"
                      "  ",
                      ValueOfSlot(kernel, operands), "}\n\n");
}

// The words of the output one after the other, and of each the elements, in one loop: the body,
// which may be long, is in the text once, and Mesa's drivers lose results in loops of loops of
// loops.
std::string LoopOverSlots(const Kernel& kernel) {
  const auto store = [&kernel](absl::string_view block, absl::string_view value) {
    return kernel.op.shape.is_row ? absl::StrCat("Output[", block, "] = ", value, ";\n")
                                  : absl::StrCat("Output.Store(", block, " * 4, ", value, ");\n");
  };
  const size_t bits = kernel.output.size() * 8;
  if (bits == 64) return LoopOverBlocks("    Output.Store2(block * 8, Slot(block));\n");
  if (bits == 32) return LoopOverBlocks(absl::StrCat("    ", store("block", "Slot(block)")));
  const size_t count = 32 / bits;
  return absl::StrCat("  uint word = 0;\n  for (uint slot = id.x * ", count,
                      "; slot < block_count * ", count, "; ++slot) {\n    word = word >> ", bits,
                      " | Slot(slot) << ", 32 - bits, ";\n    if (slot % ", count,
                      " == ", count - 1, ") {\n      ",
                      store(absl::StrCat("slot / ", count), "word"),
                      "      slot += (thread_count - 1) * ", count, ";\n    }\n  }\n");
}

std::string StridedMain(const Kernel& kernel) {
  return absl::StrCat(SlotFunction(kernel), Main(kernel, LoopOverSlots(kernel)));
}

// One of the stages, which is the same for all threads of a dispatch.
std::string RowMain(const Kernel& kernel) {
  return absl::StrCat(
      SlotFunction(kernel),
      Main(kernel,
           absl::StrCat(
               "  if (stage == STAGE_LARGEST) FindLargest(id.x);\n",
               LeavesOpen(kernel.op.id) ? "  if (stage == STAGE_SUMS) FindSums(id.x);\n" : "",
               "  if (stage == STAGE_RESULTS) {\n", LoopOverSlots(kernel), "  }\n")));
}

std::string MainOf(const Kernel& kernel) {
  if (kernel.op.shape.is_row) return RowMain(kernel);
  return kernel.key.layout == LayoutClass::kPacked ? PackedMain(kernel) : StridedMain(kernel);
}

// Whether `expression` calls a function that `text` has.
bool Calls(absl::string_view expression, absl::string_view text) {
  const auto is_called = [text](absl::string_view word) {
    return absl::StrContains(text, absl::StrCat("uint ", word, "("));
  };
  return absl::c_any_of(absl::StrSplit(expression, absl::ByAnyChar("(), "), absl::SkipEmpty()),
                        is_called);
}

// The files one after the other; empty where one cannot be read.
std::string ReadFiles(const std::string& folder, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    std::ifstream file(folder + name, std::ios::binary);
    if (!file) return "";
    text.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return text;
}

}  // namespace

std::vector<KernelKey> AllKernelKeys() {
  std::vector<KernelKey> keys;
  for (const OpTraits& op : OpTable()) {
    if (ExpressionOf(op.id) == "()") continue;
    for (DataType lane : kAllDataTypes) {
      if (!op.lane_types().contains(lane)) continue;
      for (DataType output : kAllDataTypes) {
        if (!op.OutputTypes(lane).contains(output)) continue;
        for (int mode = 0; mode < op.mode_count(); ++mode) {
          for (LayoutClass layout : {LayoutClass::kPacked, LayoutClass::kStrided}) {
            if (HasLayout(op, layout)) keys.push_back({op.id, lane, output, mode, layout});
          }
        }
      }
    }
  }
  return keys;
}

std::string RenderKernel(const KernelKey& key, const Bodies& bodies) {
  const Kernel kernel = KernelOf(key);
  const absl::string_view expression = ExpressionOf(key.op);
  // Each file builds upon some of those before it.
  const bool is_row = kernel.op.shape.is_row;
  const bool has_open = LeavesOpen(key.op);
  const bool has_distribution = Calls(expression, bodies.normal_distribution);
  const bool has_power = Calls(expression, bodies.power);
  const bool has_numbers = HasNumbers(kernel.op);
  const bool has_quantization = Calls(expression, bodies.quantization);
  const bool has_elementary = has_open || has_distribution || Calls(expression, bodies.elementary);
  const bool has_arithmetic = has_elementary || has_numbers || Calls(expression, bodies.arithmetic);
  return absl::StrCat(
      LaneMacros(kernel), bodies.common, has_arithmetic ? bodies.arithmetic : "",
      has_numbers ? bodies.typed_numbers : "", has_quantization ? bodies.quantization : "",
      has_elementary ? bodies.elementary : "", has_distribution ? bodies.normal_distribution : "",
      has_open ? bodies.open : "", has_power ? bodies.power : "",
      is_row && has_open ? bodies.softmax : "", Bindings(kernel), is_row ? bodies.rows : "",
      NumberFunctions(kernel), ElementFunction(kernel), MainOf(kernel));
}

Bodies ReadBodies(const std::string& folder) {
  return {ReadFiles(folder, {"/elements.hlsli", "/moves.hlsli", "/logic.hlsli", "/selection.hlsli",
                             "/rounding.hlsli"}),
          ReadFiles(folder, {"/arithmetic.hlsli"}),
          ReadFiles(folder, {"/typed_numbers.hlsli"}),
          ReadFiles(folder, {"/quantization.hlsli"}),
          ReadFiles(folder, {"/elementary.hlsli"}),
          ReadFiles(folder, {"/normal_distribution.hlsli"}),
          ReadFiles(folder, {"/open.hlsli"}),
          ReadFiles(folder, {"/power.hlsli"}),
          ReadFiles(folder, {"/softmax.hlsli"}),
          ReadFiles(folder, {"/rows.hlsli"})};
}

}  // namespace opserve::hlsl
