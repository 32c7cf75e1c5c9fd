// Results of arithmetic and activations that a second rounding, an overflow on the way or a
// division by zero would spoil. The reference could share a mistake with the kernels; these values
// are written by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "kernels/op_table.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

using reference::ToFloat;
using reference::ToHalf;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

// Elements by type.
template <class T>
constexpr DataType kTypeOf = DataType::kUnknown;
template <>
constexpr DataType kTypeOf<float> = DataType::kFloat32;
template <>
constexpr DataType kTypeOf<int8_t> = DataType::kInt8;
template <>
constexpr DataType kTypeOf<int16_t> = DataType::kInt16;
template <>
constexpr DataType kTypeOf<int32_t> = DataType::kInt32;
template <>
constexpr DataType kTypeOf<int64_t> = DataType::kInt64;
template <>
constexpr DataType kTypeOf<uint8_t> = DataType::kUint8;
template <>
constexpr DataType kTypeOf<uint16_t> = DataType::kUint16;
template <>
constexpr DataType kTypeOf<uint32_t> = DataType::kUint32;
template <>
constexpr DataType kTypeOf<uint64_t> = DataType::kUint64;

AttributeValues BitsOf(std::array<float, 2> values) {
  return {std::bit_cast<uint32_t>(values[0]), std::bit_cast<uint32_t>(values[1])};
}

template <class T>
void RunKernel(cpu::FlatKernel kernel, const std::vector<T>& x, const std::vector<T>& y,
               std::array<float, 2> attributes, std::vector<T>& output) {
  ASSERT_NE(kernel, nullptr);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(x.data()),
                               reinterpret_cast<const std::byte*>(y.data())};
  output.resize(x.size());
  kernel(inputs, reinterpret_cast<std::byte*>(output.data()), x.size(), cpu::StoreMode::kCached,
         BitsOf(attributes));
}

// Numbers that are equal to the bit, or both not numbers.
void ExpectSame(float actual, float expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected))
        << what << " is " << actual << " instead of " << expected;
  }
}

template <class T>
void ExpectSame(T actual, T expected, const std::string& what) {
  EXPECT_EQ(actual, expected) << what;
}

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (float value : values) halves.push_back(ToHalf(value).bits);
  return halves;
}

class ArithmeticEdgeTest : public ::testing::TestWithParam<int64_t> {
 protected:
  // The operator over x[i] and y[i]; operators of one input do not look at y.
  template <class T>
  void Expect(OpId op, const std::vector<T>& x, const std::vector<T>& y,
              const std::vector<T>& expected, std::array<float, 2> attributes = {}) {
    std::vector<T> actual;
    RunKernel(cpu::GetKernel(op, {kTypeOf<T>, kTypeOf<T>}), x, y, attributes, actual);
    for (size_t i = 0; i < actual.size(); ++i) {
      ExpectSame(actual[i], expected[i],
                 std::string(TraitsOf(op).name) + " of " + std::to_string(x[i]));
    }
  }

  void ExpectHalves(OpId op, const std::vector<float>& x, const std::vector<float>& y,
                    const std::vector<float>& expected, std::array<float, 2> attributes = {}) {
    std::vector<uint16_t> actual;
    RunKernel(cpu::GetKernel(op, {DataType::kFloat16, DataType::kFloat16}), Halves(x), Halves(y),
              attributes, actual);
    for (size_t i = 0; i < actual.size(); ++i) {
      ExpectSame(ToFloat({actual[i]}), expected[i],
                 std::string(TraitsOf(op).name) + " of FLOAT16 " + std::to_string(x[i]));
    }
  }

  template <class T>
  void ExpectScaled(const std::vector<T>& x, std::array<float, 2> scale_and_bias,
                    const std::vector<T>& expected) {
    std::vector<T> actual;
    RunKernel(cpu::GetScaleBiasKernel(kTypeOf<T>), x, x, scale_and_bias, actual);
    for (size_t i = 0; i < actual.size(); ++i) {
      ExpectSame(actual[i], expected[i], std::to_string(x[i]) + " scaled");
    }
  }

  template <class T>
  void ExpectSignedEdges() {
    constexpr T kMin = std::numeric_limits<T>::min();
    constexpr T kMax = std::numeric_limits<T>::max();
    Expect<T>(OpId::ELEMENT_WISE_ADD, {kMax, kMin, -1}, {1, -1, 1}, {kMin, kMax, 0});
    Expect<T>(OpId::ELEMENT_WISE_SUBTRACT, {kMin, kMax, 0}, {1, -1, kMin}, {kMax, kMin, kMin});
    Expect<T>(OpId::ELEMENT_WISE_MULTIPLY, {kMin, kMax, kMax, -7}, {-1, 2, kMax, 3},
              {kMin, -2, 1, -21});
    Expect<T>(OpId::ELEMENT_WISE_DIVIDE, {kMin, 7, -7, 7, 5, 0, -5, kMin, kMin, kMax, kMin},
              {-1, -3, 3, 3, 0, 0, 0, kMin, kMax, kMin, 1},
              {kMin, -2, -2, 2, -1, -1, 1, 1, -1, 0, kMin});
  }

  template <class T>
  void ExpectUnsignedEdges() {
    constexpr T kMax = std::numeric_limits<T>::max();
    Expect<T>(OpId::ELEMENT_WISE_ADD, {kMax, kMax}, {1, kMax}, {0, T(kMax - 1)});
    Expect<T>(OpId::ELEMENT_WISE_SUBTRACT, {0, 3}, {1, kMax}, {kMax, 4});
    Expect<T>(OpId::ELEMENT_WISE_MULTIPLY, {kMax, kMax, 7}, {kMax, 2, 9}, {1, T(kMax - 1), 63});
    Expect<T>(OpId::ELEMENT_WISE_DIVIDE, {0, 5, kMax, kMax, T(kMax - 1), kMax},
              {0, 0, 1, kMax, kMax, 2}, {kMax, kMax, kMax, 1, 0, T(kMax / 2)});
  }

 private:
  ScopedTarget target_{GetParam()};
};

TEST_P(ArithmeticEdgeTest, IntegersWrapAndDivideByAnything) {
  ExpectSignedEdges<int8_t>();
  ExpectSignedEdges<int16_t>();
  ExpectSignedEdges<int32_t>();
  ExpectSignedEdges<int64_t>();
  ExpectUnsignedEdges<uint8_t>();
  ExpectUnsignedEdges<uint16_t>();
  ExpectUnsignedEdges<uint32_t>();
  ExpectUnsignedEdges<uint64_t>();
}

TEST_P(ArithmeticEdgeTest, SumsAreRoundedToNearestAndKeepSubnormals) {
  ExpectHalves(OpId::ELEMENT_WISE_ADD, {4096, 65504, 65504}, {3, 8, 16}, {4100, 65504, kInfinity});
  Expect<float>(OpId::ELEMENT_WISE_ADD, {0x1p-149f, -0.0f, -0.0f, kInfinity, 1},
                {0, -0.0f, 0, -kInfinity, -1}, {0x1p-149f, -0.0f, 0, kNotANumber, 0});
}

TEST_P(ArithmeticEdgeTest, QuotientsAndRootsFollowIeee) {
  Expect<float>(OpId::ELEMENT_WISE_DIVIDE, {1, -1, 0, 1, 0x1p-149f}, {-0.0f, 0, 0, kInfinity, 2},
                {-kInfinity, -kInfinity, kNotANumber, 0, 0});
  Expect<float>(OpId::ELEMENT_WISE_RECIP, {-0.0f, -kInfinity, 0x1p127f, 3}, {0, 0, 0, 0},
                {-kInfinity, -0.0f, 0x1p-127f, 0.333333343f});
  Expect<float>(OpId::ELEMENT_WISE_SQRT, {-0.0f, -1, 2, 0x1p-149f}, {0, 0, 0, 0},
                {-0.0f, kNotANumber, 1.41421354f, 0x1.6a09e6p-75f});
}

TEST_P(ArithmeticEdgeTest, MeansDoNotOverflow) {
  Expect<float>(OpId::ELEMENT_WISE_MEAN, {kLargest, 0x1p-149f, 0x3p-149f, kInfinity},
                {kLargest, 0, 0, -kInfinity}, {kLargest, 0, 0x2p-149f, kNotANumber});
  ExpectHalves(OpId::ELEMENT_WISE_MEAN, {65504, 0x1p-24f}, {65504, 0x2p-24f}, {65504, 0x2p-24f});
  Expect<uint32_t>(OpId::ELEMENT_WISE_MEAN, {4294967295, 4294967295, 3}, {1, 4294967295, 4},
                   {2147483648, 4294967295, 3});
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  Expect<int32_t>(OpId::ELEMENT_WISE_MEAN, {kMin, kMin, -1, -4, 2147483647},
                  {kMin, 2147483647, 0, 1, 2147483646}, {kMin, 0, 0, -1, 2147483646});
}

TEST_P(ArithmeticEdgeTest, SquaresOfDifferencesAreRoundedOnce) {
  Expect<float>(OpId::ELEMENT_WISE_DIFFERENCE_SQUARE,
                {1, 0x1.0000020p0f, 3, kInfinity, -kInfinity, 4097, 4097, 0x1p-75f},
                {-0x1p-24f, 1, 3, kInfinity, 1, 0x1p-60f, -0x1p-60f, 0},
                {1 + 0x1p-23f, 0x1p-46f, 0, kNotANumber, kInfinity, 16785408, 16785410, 0});
  ExpectHalves(OpId::ELEMENT_WISE_DIFFERENCE_SQUARE, {1, 94, 94, 300},
               {-0x1p-11f, 0x1p-24f, -0x1p-24f, 0}, {1 + 0x1p-10f, 8832, 8840, kInfinity});
  Expect<int32_t>(OpId::ELEMENT_WISE_DIFFERENCE_SQUARE, {65536, 5, -2147483647}, {0, -7, 2},
                  {0, 144, 1});
}

TEST_P(ArithmeticEdgeTest, LinearFunctionsAreRoundedOnce) {
  Expect<float>(OpId::ACTIVATION_LINEAR, {1 + 0x1p-23f}, {0}, {-0x1p-46f}, {1 - 0x1p-23f, -1});
  Expect<float>(OpId::ACTIVATION_LINEAR, {kInfinity, 1}, {0, 0}, {kNotANumber, 0.5f}, {0, 0.5f});
  ExpectHalves(OpId::ACTIVATION_LINEAR, {60000}, {0}, {kInfinity}, {2, 0});
  // Beta alone decides between 1 and its neighbour.
  ExpectHalves(OpId::ACTIVATION_LINEAR, {1, -1}, {0, 0}, {1 + 0x1p-10f, -1},
               {1 + 0x1p-11f, 0x1p-100f});
  ExpectHalves(OpId::ACTIVATION_LEAKY_RELU, {-0.0f, 2, -1, -1 - 0x1p-10f}, {0, 0, 0, 0},
               {-0.0f, 2, -1 - 0x1p-10f, -1 - 0x1p-9f}, {1 + 0x1p-11f + 0x1p-23f});
}

TEST_P(ArithmeticEdgeTest, ActivationsHaveTheirLimits) {
  Expect<float>(OpId::ACTIVATION_HARD_SIGMOID, {kNotANumber, -10, 10, 0, -kInfinity, kInfinity},
                {0, 0, 0, 0, 0, 0}, {0, 0, 1, 0.5f, 0, 1}, {0.25f, 0.5f});
  Expect<float>(OpId::ACTIVATION_HARD_SWISH, {kNotANumber, -10, 10, 1, -kInfinity, kInfinity},
                {0, 0, 0, 0, 0, 0}, {kNotANumber, -0.0f, 10, 0.75f, -0.0f, kInfinity},
                {0.25f, 0.5f});
  Expect<float>(OpId::ACTIVATION_HARD_SWISH, {-0.0f, 0}, {0, 0}, {-0.0f, 0}, {-0.25f, 0.5f});
  // The second one is next to a middle, and the first one is not to see that.
  Expect<float>(OpId::ACTIVATION_HARD_SWISH, {-0.0f, 0x1p-149f}, {0, 0}, {-0.0f, 0x1p-149f},
                {0.25f, 0.5f});
  Expect<float>(OpId::ACTIVATION_SOFTSIGN,
                {-0.0f, -kInfinity, kLargest, 1, 3, 0x1p-149f, -0x1p-26f}, {0, 0, 0, 0, 0, 0, 0},
                {-0.0f, -1, 1, 0.5f, 0.75f, 0x1p-149f, -0x1p-26f});
  Expect<int8_t>(OpId::ACTIVATION_PARAMETERIZED_RELU, {-128, -3, 5}, {-1, 100, 7}, {-128, -44, 5});
}

TEST_P(ArithmeticEdgeTest, ShrinkMovesTowardZero) {
  Expect<float>(OpId::ACTIVATION_SHRINK, {kNotANumber, 2, -2, 1, -1, kInfinity}, {0, 0, 0, 0, 0, 0},
                {0, 1.5f, -1.5f, 0, 0, kInfinity}, {0.5f, 1});
  Expect<int32_t>(OpId::ACTIVATION_SHRINK, {4, 5, -4, -5, 1, -2147483647 - 1}, {0, 0, 0, 0, 0, 0},
                  {4, 4, -4, -4, 0, -2147483647 - 1}, {0.5f, 1});
  // Where both tests hold the first one wins.
  Expect<int16_t>(OpId::ACTIVATION_SHRINK, {0, -5, -32768}, {0, 0, 0}, {-10, -15, -32758},
                  {10, -6});
  Expect<uint8_t>(OpId::ACTIVATION_SHRINK, {3, 200}, {0, 0}, {0, 255}, {-100, 100});
}

TEST_P(ArithmeticEdgeTest, ScaleBiasIsRoundedOrTruncatedOnce) {
  ExpectScaled<float>({1 + 0x1p-23f, -0.0f}, {1 - 0x1p-23f, -1}, {-0x1p-46f, -1});
  ExpectScaled<float>({-0.0f}, {1, 0}, {0});
  ExpectScaled<int32_t>({16777217, -16777217, 2147483647}, {1, 0},
                        {16777217, -16777217, 2147483647});
  // The product has 56 digits; what is behind the last one of a double decides.
  ExpectScaled<int32_t>({2147483647, -2147483647}, {1, -0x1p-100f}, {2147483646, -2147483647});
  ExpectScaled<uint32_t>({4294967295, 1, 3}, {1, -2}, {4294967293, 0, 1});
  ExpectScaled<uint32_t>({4294967295, 0}, {kInfinity, 0}, {4294967295, 0});
  ExpectScaled<int8_t>({100, -100, 3}, {2.5f, 0}, {127, -128, 7});
  ExpectScaled<uint8_t>({0, 1, 255}, {kNotANumber, 0}, {0, 0, 0});
  ExpectScaled<int16_t>({-3, 3}, {0.5f, 0}, {-1, 1});
}

INSTANTIATE_TEST_SUITE_P(AllTargets, ArithmeticEdgeTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
