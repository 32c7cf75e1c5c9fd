// Quantisation in every combination of types, with and without zero points, on every target:
// against the reference, and by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/op_rows.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

using enum DataType;

// Types of the inputs of a call, kUnknown where one is absent, and of its output.
struct Types {
  std::vector<DataType> inputs;
  DataType output;
};

std::vector<DataType> MembersOf(DataTypeSet types) {
  std::vector<DataType> members;
  for (DataType type : kAllDataTypes) {
    if (types.contains(type)) members.push_back(type);
  }
  return members;
}

// What scales by one tensor, with a zero point of type `zero_point` and without.
void AddScaling(DataType input, DataType scale, DataType zero_point, DataType output,
                std::vector<Types>& all) {
  all.push_back({{input, scale, zero_point}, output});
  all.push_back({{input, scale, kUnknown}, output});
}

std::vector<Types> TypesOfQuantize() {
  std::vector<Types> all;
  for (const auto& [input, scale] : {std::pair(kFloat32, kFloat32), std::pair(kFloat16, kFloat16),
                                     std::pair(kInt32, kFloat32)}) {
    for (DataType output : {kInt8, kUint8}) AddScaling(input, scale, output, output, all);
  }
  return all;
}

std::vector<Types> TypesOfDequantize() {
  std::vector<Types> all;
  for (DataType input : MembersOf(op_rows::kIntegers6)) {
    for (DataType output : {kFloat32, kFloat16}) AddScaling(input, output, input, output, all);
  }
  return all;
}

// Each type on its own, and each zero point absent or not.
std::vector<Types> TypesOfSum() {
  std::vector<Types> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto byte = [&](int i) { return (bits >> i & 1) != 0 ? kInt8 : kUint8; };
    const auto zero = [&](int i) { return (bits >> (3 + i) & 1) != 0 ? byte(i) : kUnknown; };
    all.push_back(
        {{byte(0), kFloat32, zero(0), byte(1), kFloat32, zero(1), kFloat32, zero(2)}, byte(2)});
  }
  return all;
}

// A call of the operator whose tensors have these sizes.
std::shared_ptr<const Invocation> Call(OpId id, const Types& types,
                                       const std::vector<uint32_t>& sizes) {
  const OpTraits& op = TraitsOf(id);
  RequestBuilder builder{std::string(op.name)};
  for (int i = 0; i < op.input_count(); ++i) {
    if (types.inputs[i] == kUnknown) continue;
    builder.Input({.type = types.inputs[i],
                   .sizes = SizesOfInput(op, i, sizes),
                   .name = std::string(op.inputs[i].name)});
  }
  const ValidationResult result = builder.Output({types.output}).Validate();
  for (const Violation& violation : result.violations) {
    ADD_FAILURE() << op.name << ": " << violation.field << ": " << violation.description;
  }
  return result.invocation;
}

// The elements as they are in memory.
template <class T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class QuantizationTest : public ::testing::TestWithParam<int64_t> {
 protected:
  // Compares with the reference, in one dimension and in several.
  void CheckTypes(OpId op, const Types& types) {
    for (const std::vector<uint32_t>& sizes :
         {std::vector<uint32_t>{4097}, {3, 700}, {2, 3, 5}, {1}}) {
      const auto call = Call(op, types, sizes);
      ASSERT_NE(call, nullptr);
      std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
      std::vector<const std::byte*> pointers;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool is_absent = types.inputs[i] == kUnknown;
        pointers.push_back(is_absent ? nullptr : inputs[i].data());
      }
      MakeUsual(types, inputs);
      SentinelOutput output(call->output_bytes, 1);
      CpuExecutor(1).Run(*call, pointers, output.data());
      const std::vector<std::byte> expected = ReferenceOutput(*call, pointers);
      EXPECT_EQ(Difference(*call, expected.data(), output.data()), "")
          << TraitsOf(op).name << ", " << DescriptionOf(types) << ", " << sizes.size()
          << " dimensions";
      EXPECT_TRUE(output.intact());
    }
  }

  // The result of a call on one-dimensional tensors.
  template <class T>
  static std::vector<T> Result(OpId op, const Types& types,
                               const std::vector<std::vector<std::byte>>& inputs) {
    const auto count = static_cast<uint32_t>(inputs[0].size() / SizeOf(types.inputs[0]));
    const auto call = Call(op, types, {count});
    std::vector<T> result(count);
    if (call == nullptr) return result;
    std::vector<const std::byte*> pointers;
    for (const std::vector<std::byte>& input : inputs) {
      pointers.push_back(input.empty() ? nullptr : input.data());
    }
    CpuExecutor(1).Run(*call, pointers, reinterpret_cast<std::byte*>(result.data()));
    return result;
  }

  std::mt19937_64 random_{20261124};

 private:
  // Has half of the quotients within the limits of 8 bits: float inputs become small multiples of
  // halves of scales, which are next to middles where the scale has few digits.
  void MakeUsual(const Types& types, std::vector<GuardedInput>& inputs) {
    if (types.inputs[0] != kFloat32) return;
    const size_t count = inputs[0].size() / sizeof(float);
    for (size_t i = 0; i < count; i += 2) {
      float scale;
      std::memcpy(&scale, inputs[1].data() + i * sizeof(float), sizeof(float));
      auto x = static_cast<float>((static_cast<double>(random_() % 1200) / 2 - 300) *
                                  static_cast<double>(scale));
      if (i % 4 == 0) x = std::nextafter(x, (random_() & 1) != 0 ? kInf : -kInf);
      std::memcpy(inputs[0].data() + i * sizeof(float), &x, sizeof(float));
    }
  }

  static std::string DescriptionOf(const Types& types) {
    std::string text;
    for (DataType type : types.inputs) {
      absl::StrAppend(&text, type == kUnknown ? "none" : NameOf(type), " ");
    }
    return absl::StrCat(text, "to ", NameOf(types.output));
  }

  ScopedTarget target_{GetParam()};
};

TEST_P(QuantizationTest, AllTypesEqualTheReference) {
  for (const Types& types : TypesOfQuantize()) {
    CheckTypes(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types);
  }
  for (const Types& types : TypesOfDequantize()) {
    CheckTypes(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, types);
  }
  for (const Types& types : TypesOfSum()) {
    CheckTypes(OpId::ELEMENT_WISE_QUANTIZED_LINEAR_ADD, types);
  }
}

TEST_P(QuantizationTest, QuantizesTheExactQuotient) {
  const std::vector<float> x = {0.125f, 2.5f, 3.5f, -2.5f, 1e30f, -1e30f, 5, -5, 0, kInf, kNan, 7};
  const std::vector<float> scale = {0.01f, 1, 1, 1, 1, 1, 0, 0, 0, kInf, 1, -2};
  const std::vector<int8_t> zero(x.size(), 10);
  const Types types = {{kFloat32, kFloat32, kInt8}, kInt8};
  // 0.125 / 0.01f is a little more than 12.5; 0 / 0 and NaN become 0 without the zero point.
  EXPECT_EQ(Result<int8_t>(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types,
                           {Bytes(x), Bytes(scale), Bytes(zero)}),
            (std::vector<int8_t>{23, 12, 14, 8, 127, -128, 127, -128, 0, 0, 0, 6}));
}

TEST_P(QuantizationTest, QuantizesIntegersThatFloatsCannotHold) {
  const std::vector<int32_t> x = {16777217, 2147483647, -2147483647 - 1, 33};
  const std::vector<float> scale = {16777216.0f / 100, 16777216, 16777216, 2};
  const Types types = {{kInt32, kFloat32, kUnknown}, kUint8};
  EXPECT_EQ(
      Result<uint8_t>(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types, {Bytes(x), Bytes(scale), {}}),
      (std::vector<uint8_t>{100, 128, 0, 16}));
}

TEST_P(QuantizationTest, DequantizesExactDifferences) {
  const std::vector<uint32_t> x = {16777217, 4294967295, 0, 7, 7, 7};
  const std::vector<uint32_t> zero = {16777216, 0, 4294967295, 7, 7, 8};
  const std::vector<float> scale = {1, 1, 1, -3, kInf, 0};
  const Types types = {{kUint32, kFloat32, kUint32}, kFloat32};
  const std::vector<float> result = Result<float>(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, types,
                                                  {Bytes(x), Bytes(scale), Bytes(zero)});
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], 4294967296.0f);
  EXPECT_EQ(result[2], -4294967296.0f);
  // A difference of 0 is +0: its product has the sign of the scale.
  EXPECT_EQ(result[3], 0);
  EXPECT_TRUE(std::signbit(result[3]));
  EXPECT_TRUE(std::isnan(result[4]));
  EXPECT_EQ(result[5], 0);
  EXPECT_TRUE(std::signbit(result[5]));
}

// FLOAT16 has 11 digits: by way of FLOAT32, 2049 * 65537 would become an even number first.
TEST_P(QuantizationTest, DequantizesToHalfWithOneRounding) {
  const std::vector<int32_t> x = {65537 * 2049, 70000, -70000, 2147483647};
  const std::vector<uint16_t> scale = {0x0001, 0x3C00, 0x3C00, 0x0001};  // 2^-24, 1, 1, 2^-24
  const Types types = {{kInt32, kFloat16, kUnknown}, kFloat16};
  const std::vector<uint16_t> result =
      Result<uint16_t>(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, types, {Bytes(x), Bytes(scale), {}});
  EXPECT_EQ(result, (std::vector<uint16_t>{reference::ToHalf(65537.0 * 2049 * 0x1p-24).bits, 0x7C00,
                                           0xFC00, 0x5800}));
}

TEST_P(QuantizationTest, SumsRoundOnce) {
  const Types types = {{kUint8, kFloat32, kUint8, kUint8, kFloat32, kUnknown, kFloat32, kUint8},
                       kUint8};
  const auto sum = [&](float a_scale, float b_scale, float scale) {
    return Result<uint8_t>(OpId::ELEMENT_WISE_QUANTIZED_LINEAR_ADD, types,
                           {Bytes(std::vector<uint8_t>{10, 11, 12, 255}),
                            Bytes(std::vector<float>{a_scale}),
                            Bytes(std::vector<uint8_t>{10}),
                            Bytes(std::vector<uint8_t>{1, 1, 1, 1}),
                            Bytes(std::vector<float>{b_scale}),
                            {},
                            Bytes(std::vector<float>{scale}),
                            Bytes(std::vector<uint8_t>{3})});
  };
  // Halves to even: 0.5, 1.5, 2.5.
  EXPECT_EQ(sum(1, 0.5f, 1), (std::vector<uint8_t>{3, 5, 5, 249}));
  // One part in 2^60 beyond the halves decides, which a double cannot hold.
  EXPECT_EQ(sum(1.5f, 0x1p-60f, 1), (std::vector<uint8_t>{3, 5, 6, 255}));
  EXPECT_EQ(sum(1.5f, -0x1p-60f, 1), (std::vector<uint8_t>{3, 4, 6, 255}));
  // Infinities saturate by sign; what is no number becomes the least.
  EXPECT_EQ(sum(kInf, 1, 1), (std::vector<uint8_t>{0, 255, 255, 255}));
  EXPECT_EQ(sum(1, 1, 0), (std::vector<uint8_t>{255, 255, 255, 255}));
  EXPECT_EQ(sum(1, 1, kNan), (std::vector<uint8_t>{0, 0, 0, 0}));
}

// Quantising what was dequantised gives it back, for scales that are no powers of two as well.
TEST_P(QuantizationTest, RoundTripsKeepEveryByte) {
  std::vector<int8_t> x(256);
  for (int i = 0; i < 256; ++i) x[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  const std::vector<int8_t> zero(256, -7);
  for (const float factor : {0.1f, 3.0f, 0x1.fffffep-20f, -1e20f}) {
    const std::vector<float> scale(256, factor);
    const std::vector<float> wide =
        Result<float>(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, {{kInt8, kFloat32, kInt8}, kFloat32},
                      {Bytes(x), Bytes(scale), Bytes(zero)});
    EXPECT_EQ(
        Result<int8_t>(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, {{kFloat32, kFloat32, kInt8}, kInt8},
                       {Bytes(wide), Bytes(scale), Bytes(zero)}),
        x)
        << factor;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, QuantizationTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
