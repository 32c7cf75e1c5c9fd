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
#include "kernels/reference_ops.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/quantization_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

using enum DataType;

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
  void CheckTypes(OpId op, const QuantizedTypes& types) {
    for (const std::vector<uint32_t>& sizes :
         {std::vector<uint32_t>{4097}, {3, 700}, {2, 3, 5}, {1}}) {
      const auto call = QuantizationCall(op, types, sizes);
      ASSERT_NE(call, nullptr);
      const QuantizationInputs inputs(*call, random_);
      SentinelOutput output(call->output_bytes, 1);
      CpuExecutor(1).Run(*call, inputs.pointers(), output.data());
      const std::vector<std::byte> expected = ReferenceOutput(*call, inputs.pointers());
      EXPECT_EQ(Difference(*call, expected.data(), output.data()), "")
          << TraitsOf(op).name << ", " << types.ToString() << ", " << sizes.size() << " dimensions";
      EXPECT_TRUE(output.intact());
    }
  }

  // The result of a call on one-dimensional tensors.
  template <class T>
  static std::vector<T> Result(OpId op, const QuantizedTypes& types,
                               const std::vector<std::vector<std::byte>>& inputs) {
    const auto count = static_cast<uint32_t>(inputs[0].size() / SizeOf(types.inputs[0]));
    const auto call = QuantizationCall(op, types, {count});
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
  ScopedTarget target_{GetParam()};
};

TEST_P(QuantizationTest, AllTypesEqualTheReference) {
  for (const auto& [op, types] : AllQuantizedTypes()) CheckTypes(op, types);
}

TEST_P(QuantizationTest, QuantizesTheExactQuotient) {
  const std::vector<float> x = {0.125f, 2.5f, 3.5f, -2.5f, 1e30f, -1e30f, 5, -5, 0, kInf, kNan, 7};
  const std::vector<float> scale = {0.01f, 1, 1, 1, 1, 1, 0, 0, 0, kInf, 1, -2};
  const std::vector<int8_t> zero(x.size(), 10);
  const QuantizedTypes types = {{kFloat32, kFloat32, kInt8}, kInt8};
  // 0.125 / 0.01f is a little more than 12.5; 0 / 0 and NaN become 0 without the zero point.
  EXPECT_EQ(Result<int8_t>(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types,
                           {Bytes(x), Bytes(scale), Bytes(zero)}),
            (std::vector<int8_t>{23, 12, 14, 8, 127, -128, 127, -128, 0, 0, 0, 6}));
}

TEST_P(QuantizationTest, QuantizesIntegersThatFloatsCannotHold) {
  const std::vector<int32_t> x = {16777217, 2147483647, -2147483647 - 1, 33};
  const std::vector<float> scale = {16777216.0f / 100, 16777216, 16777216, 2};
  const QuantizedTypes types = {{kInt32, kFloat32, kUnknown}, kUint8};
  EXPECT_EQ(
      Result<uint8_t>(OpId::ELEMENT_WISE_QUANTIZE_LINEAR, types, {Bytes(x), Bytes(scale), {}}),
      (std::vector<uint8_t>{100, 128, 0, 16}));
}

TEST_P(QuantizationTest, DequantizesExactDifferences) {
  const std::vector<uint32_t> x = {16777217, 4294967295, 0, 7, 7, 7};
  const std::vector<uint32_t> zero = {16777216, 0, 4294967295, 7, 7, 8};
  const std::vector<float> scale = {1, 1, 1, -3, kInf, 0};
  const QuantizedTypes types = {{kUint32, kFloat32, kUint32}, kFloat32};
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
  const QuantizedTypes types = {{kInt32, kFloat16, kUnknown}, kFloat16};
  const std::vector<uint16_t> result =
      Result<uint16_t>(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, types, {Bytes(x), Bytes(scale), {}});
  EXPECT_EQ(result, (std::vector<uint16_t>{reference::ToHalf(65537.0 * 2049 * 0x1p-24).bits, 0x7C00,
                                           0xFC00, 0x5800}));
}

TEST_P(QuantizationTest, SumsRoundOnce) {
  const QuantizedTypes types = {
      {kUint8, kFloat32, kUint8, kUint8, kFloat32, kUnknown, kFloat32, kUint8}, kUint8};
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
