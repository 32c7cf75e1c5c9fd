#include "tests/conformance/quantization_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "kernels/op_rows.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

using enum DataType;

constexpr float kUsualScales[] = {1, 0.5f, 3, 0.1f, -0.75f, 0.037f, 2};

std::vector<DataType> MembersOf(DataTypeSet types) {
  std::vector<DataType> members;
  for (DataType type : kAllDataTypes) {
    if (types.contains(type)) members.push_back(type);
  }
  return members;
}

// What scales by one tensor, with a zero point of type `zero_point` and without.
void AddScaling(DataType input, DataType scale, DataType zero_point, DataType output,
                std::vector<QuantizedTypes>& all) {
  all.push_back({{input, scale, zero_point}, output});
  all.push_back({{input, scale, kUnknown}, output});
}

std::vector<QuantizedTypes> TypesOfQuantize() {
  std::vector<QuantizedTypes> all;
  for (const auto& [input, scale] : {std::pair(kFloat32, kFloat32), std::pair(kFloat16, kFloat16),
                                     std::pair(kInt32, kFloat32)}) {
    for (DataType output : {kInt8, kUint8}) AddScaling(input, scale, output, output, all);
  }
  return all;
}

std::vector<QuantizedTypes> TypesOfDequantize() {
  std::vector<QuantizedTypes> all;
  for (DataType input : MembersOf(op_rows::kIntegers6)) {
    for (DataType output : {kFloat32, kFloat16}) AddScaling(input, output, input, output, all);
  }
  return all;
}

// Each type on its own, and each zero point absent or not.
std::vector<QuantizedTypes> TypesOfSum() {
  std::vector<QuantizedTypes> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto byte = [&](int i) { return (bits >> i & 1) != 0 ? kInt8 : kUint8; };
    const auto zero = [&](int i) { return (bits >> (3 + i) & 1) != 0 ? byte(i) : kUnknown; };
    all.push_back(
        {{byte(0), kFloat32, zero(0), byte(1), kFloat32, zero(1), kFloat32, zero(2)}, byte(2)});
  }
  return all;
}

double ReadNumber(DataType type, const std::byte* from) {
  if (type == kFloat16) {
    reference::Float16 half{static_cast<uint16_t>(ReadBits(from, 2))};
    return static_cast<double>(reference::ToFloat(half));
  }
  float number;
  std::memcpy(&number, from, sizeof(number));
  return static_cast<double>(number);
}

// `number` as an element, rounded where that is needed.
void WriteNumber(DataType type, double number, std::byte* to) {
  if (type == kFloat32) {
    const auto element = static_cast<float>(number);
    std::memcpy(to, &element, sizeof(element));
  } else if (type == kFloat16) {
    const uint16_t element = reference::ToHalf(number).bits;
    std::memcpy(to, &element, sizeof(element));
  } else {
    const auto element = static_cast<int32_t>(std::fabs(number) < 1e9 ? number : 0);
    std::memcpy(to, &element, sizeof(element));
  }
}

// Makes half of the elements of QUANTIZE_LINEAR small multiples of halves of scales; every fourth
// FLOAT32 is the next one.
void MakeUsualElements(const Invocation& call, std::vector<GuardedInput>& inputs,
                       std::mt19937_64& random) {
  const DataType type = call.inputs[0].data_type;
  const DataType scale_type = call.inputs[1].data_type;
  const size_t scale_size = SizeOf(scale_type);
  const size_t scales = inputs[1].size() / scale_size;
  for (size_t i = 0; i < inputs[0].size() / SizeOf(type); i += 2) {
    std::byte* const scale = inputs[1].data() + i % scales * scale_size;
    if (type != kFloat32 && (scales > 1 || i == 0)) {
      WriteNumber(scale_type, static_cast<double>(kUsualScales[random() % std::size(kUsualScales)]),
                  scale);
    }
    double x = (static_cast<double>(random() % 1200) / 2 - 300) * ReadNumber(scale_type, scale);
    if (type == kFloat32 && i % 4 == 0) {
      x = static_cast<double>(
          std::nextafter(static_cast<float>(x), (random() & 1) != 0 ? kInf : -kInf));
    }
    WriteNumber(type, x, inputs[0].data() + i * SizeOf(type));
  }
}

// Scales of QUANTIZED_LINEAR_ADD whose sums are about as large as the scale of the result.
void MakeUsualScales(std::vector<GuardedInput>& inputs, std::mt19937_64& random) {
  for (const size_t i : {1, 4, 6}) {
    WriteNumber(kFloat32, static_cast<double>(kUsualScales[random() % std::size(kUsualScales)]),
                inputs[i].data());
  }
}

}  // namespace

std::string QuantizedTypes::ToString() const {
  std::string text;
  for (DataType type : inputs)
    absl::StrAppend(&text, type == kUnknown ? "none" : NameOf(type), " ");
  return absl::StrCat(text, "to ", NameOf(output));
}

std::vector<std::pair<OpId, QuantizedTypes>> AllQuantizedTypes() {
  std::vector<std::pair<OpId, QuantizedTypes>> all;
  for (const QuantizedTypes& types : TypesOfQuantize()) {
    all.emplace_back(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types);
  }
  for (const QuantizedTypes& types : TypesOfDequantize()) {
    all.emplace_back(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, types);
  }
  for (const QuantizedTypes& types : TypesOfSum()) {
    all.emplace_back(OpId::ELEMENT_WISE_QUANTIZED_LINEAR_ADD, types);
  }
  return all;
}

std::shared_ptr<const Invocation> QuantizationCall(OpId id, const QuantizedTypes& types,
                                                   const std::vector<uint32_t>& sizes,
                                                   bool is_per_tensor) {
  const OpTraits& op = TraitsOf(id);
  RequestBuilder builder{std::string(op.name)};
  for (int i = 0; i < op.input_count(); ++i) {
    if (types.inputs[i] == kUnknown) continue;
    TestTensor input = {.type = types.inputs[i],
                        .sizes = SizesOfInput(op, i, sizes),
                        .name = std::string(op.inputs[i].name)};
    if (is_per_tensor && i > 0 && !op.inputs[i].is_single && op.shape.operands[i] != 'b') {
      input.strides.assign(sizes.size(), 0);
    }
    builder.Input(std::move(input));
  }
  const ValidationResult result = builder.Output({types.output}).Validate();
  for (const Violation& violation : result.violations) {
    ADD_FAILURE() << op.name << ": " << violation.field << ": " << violation.description;
  }
  return result.invocation;
}

QuantizationInputs::QuantizationInputs(const Invocation& call, std::mt19937_64& random)
    : inputs_(MakeInputs(call, random)) {
  if (call.op == OpId::ELEMENT_WISE_QUANTIZE_LINEAR) MakeUsualElements(call, inputs_, random);
  if (call.op == OpId::ELEMENT_WISE_QUANTIZED_LINEAR_ADD && random() % 4 != 0) {
    MakeUsualScales(inputs_, random);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool is_absent = call.inputs[i].data_type == kUnknown;
    pointers_.push_back(is_absent ? nullptr : inputs_[i].data());
  }
}

}  // namespace opserve::testing
