// Results of moves, logic and selection that users ask about, spelled out, as in
// tests/conformance/kernel_edge_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

constexpr uint32_t kSignallingNan = 0xFF800001;

uint16_t Half(double value) { return reference::ToHalf(value).bits; }

class OperatorEdgeTest : public ::testing::TestWithParam<int64_t> {
 protected:
  template <class TOut, class... TIn>
  std::vector<TOut> Run(OpId op, DataType lane, const std::vector<TIn>&... inputs) const {
    const std::byte* pointers[] = {reinterpret_cast<const std::byte*>(inputs.data())...};
    const size_t count = std::min({inputs.size()...});
    std::vector<TOut> output(count);
    const DataTypeSet outputs = TraitsOf(op).OutputTypes(lane);
    const DataType result = sizeof(TOut) == 4 ? outputs.first() : outputs.last();
    const cpu::FlatKernel kernel = cpu::GetKernel(op, {lane, result});
    EXPECT_NE(kernel, nullptr);
    kernel(pointers, reinterpret_cast<std::byte*>(output.data()), count, cpu::StoreMode::kCached,
           attributes_);
    return output;
  }

  template <class T>
  std::vector<uint64_t> BitsOf(const std::vector<T>& values) const {
    std::vector<uint64_t> bits;
    for (const T value : values) {
      bits.push_back(0);
      std::memcpy(&bits.back(), &value, sizeof(value));
    }
    return bits;
  }

  void Set(float first, float second = 0) {
    attributes_ = {std::bit_cast<uint32_t>(first), std::bit_cast<uint32_t>(second)};
  }

 private:
  ScopedTarget target_{GetParam()};
  AttributeValues attributes_ = {};
};

TEST_P(OperatorEdgeTest, SignsOfNansChangeAndNothingElse) {
  const std::vector<uint32_t> x = {kSignallingNan, 0x80000000, 0x7F800001, 0x3F800000};
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_ABS, DataType::kFloat32, x),
            (std::vector<uint32_t>{0x7F800001, 0, 0x7F800001, 0x3F800000}));
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_NEGATE, DataType::kFloat32, x),
            (std::vector<uint32_t>{0x7F800001, 0, kSignallingNan, 0xBF800000}));
  EXPECT_EQ(Run<uint16_t>(OpId::ELEMENT_WISE_NEGATE, DataType::kFloat16,
                          std::vector<uint16_t>{0x7C01, 0}),
            (std::vector<uint16_t>{0xFC01, 0x8000}));
}

TEST_P(OperatorEdgeTest, ShortIntegersSaturateAndLongOnesWrap) {
  EXPECT_EQ(Run<int8_t>(OpId::ELEMENT_WISE_ABS, DataType::kInt8, std::vector<int8_t>{-128, -1}),
            (std::vector<int8_t>{127, 1}));
  EXPECT_EQ(
      Run<int16_t>(OpId::ELEMENT_WISE_NEGATE, DataType::kInt16, std::vector<int16_t>{INT16_MIN, 5}),
      (std::vector<int16_t>{INT16_MAX, -5}));
  EXPECT_EQ(
      Run<int32_t>(OpId::ELEMENT_WISE_ABS, DataType::kInt32, std::vector<int32_t>{INT32_MIN, -7}),
      (std::vector<int32_t>{INT32_MIN, 7}));
  EXPECT_EQ(Run<int64_t>(OpId::ELEMENT_WISE_NEGATE, DataType::kInt64,
                         std::vector<int64_t>{INT64_MIN, INT64_MAX}),
            (std::vector<int64_t>{INT64_MIN, -INT64_MAX}));
}

TEST_P(OperatorEdgeTest, ShiftsCountInWordsOf32Bits) {
  EXPECT_EQ(
      Run<uint8_t>(OpId::ELEMENT_WISE_BIT_SHIFT_LEFT, DataType::kUint8,
                   std::vector<uint8_t>{1, 1, 1, 1, 0xFF}, std::vector<uint8_t>{8, 31, 32, 7, 4}),
      (std::vector<uint8_t>{0, 0, 1, 128, 0xF0}));
  EXPECT_EQ(
      Run<uint16_t>(OpId::ELEMENT_WISE_BIT_SHIFT_RIGHT, DataType::kUint16,
                    std::vector<uint16_t>{0x8000, 0x8000, 3}, std::vector<uint16_t>{15, 16, 33}),
      (std::vector<uint16_t>{1, 0, 1}));
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_BIT_SHIFT_LEFT, DataType::kUint32,
                          std::vector<uint32_t>{1, 3, 1}, std::vector<uint32_t>{31, 32, 33}),
            (std::vector<uint32_t>{0x80000000, 3, 2}));
  EXPECT_EQ(Run<uint64_t>(OpId::ELEMENT_WISE_BIT_SHIFT_LEFT, DataType::kUint64,
                          std::vector<uint64_t>{1, 1, 1}, std::vector<uint64_t>{63, 64, 32}),
            (std::vector<uint64_t>{uint64_t{1} << 63, 1, uint64_t{1} << 32}));
}

TEST_P(OperatorEdgeTest, CountsBitsOfEveryWidth) {
  EXPECT_EQ(Run<uint8_t>(OpId::ELEMENT_WISE_BIT_COUNT, DataType::kUint8,
                         std::vector<uint8_t>{0, 0xFF, 0x81}),
            (std::vector<uint8_t>{0, 8, 2}));
  EXPECT_EQ(
      Run<uint32_t>(OpId::ELEMENT_WISE_BIT_COUNT, DataType::kInt8, std::vector<int8_t>{-1, 1, 0}),
      (std::vector<uint32_t>{8, 1, 0}));
  EXPECT_EQ(Run<uint8_t>(OpId::ELEMENT_WISE_BIT_COUNT, DataType::kFloat64,
                         std::vector<uint64_t>{~uint64_t{0}, 1, uint64_t{3} << 62}),
            (std::vector<uint8_t>{64, 1, 2}));
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_BIT_COUNT, DataType::kInt64,
                          std::vector<uint64_t>{~uint64_t{0}, 5}),
            (std::vector<uint32_t>{64, 2}));
}

TEST_P(OperatorEdgeTest, ComparisonsKnowNanAndZeros) {
  const std::vector<float> a = {0.0f, kNan, 1, 2, kNan, -kInf};
  const std::vector<float> b = {-0.0f, 1, 2, 1, kNan, kInf};
  const auto run = [&](OpId op) { return Run<uint8_t>(op, DataType::kFloat32, a, b); };
  EXPECT_EQ(run(OpId::ELEMENT_WISE_LOGICAL_EQUALS), (std::vector<uint8_t>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run(OpId::ELEMENT_WISE_LOGICAL_LESS_THAN), (std::vector<uint8_t>{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(run(OpId::ELEMENT_WISE_LOGICAL_GREATER_THAN), (std::vector<uint8_t>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(run(OpId::ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL),
            (std::vector<uint8_t>{1, 0, 1, 0, 0, 1}));
  EXPECT_EQ(run(OpId::ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL),
            (std::vector<uint8_t>{1, 0, 0, 1, 0, 0}));
}

// INT64 is compared over all its bits, not by its low word.
TEST_P(OperatorEdgeTest, WideIntegersAreComparedAsAWhole) {
  const std::vector<int64_t> a = {-4294967296, 4294967295, INT64_MIN};
  const std::vector<int64_t> b = {-2147483648, 4294967296, INT64_MAX};
  EXPECT_EQ(Run<int64_t>(OpId::ELEMENT_WISE_MAX, DataType::kInt64, a, b), b);
  EXPECT_EQ(Run<int64_t>(OpId::ELEMENT_WISE_MIN, DataType::kInt64, a, b), a);
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_LOGICAL_LESS_THAN, DataType::kInt64, a, b),
            (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(Run<uint8_t>(OpId::ELEMENT_WISE_LOGICAL_GREATER_THAN, DataType::kUint64, a, b),
            (std::vector<uint8_t>{0, 0, 1}));
}

TEST_P(OperatorEdgeTest, NanLosesAndTiesGiveTheFirst) {
  const std::vector<float> a = {kNan, 1, 0.0f, -0.0f, kInf};
  const std::vector<float> b = {1, kNan, -0.0f, 0.0f, 2};
  EXPECT_EQ(BitsOf(Run<float>(OpId::ELEMENT_WISE_MIN, DataType::kFloat32, a, b)),
            BitsOf(std::vector<float>{1, 1, 0.0f, -0.0f, 2}));
  EXPECT_EQ(BitsOf(Run<float>(OpId::ELEMENT_WISE_MAX, DataType::kFloat32, a, b)),
            BitsOf(std::vector<float>{1, 1, 0.0f, -0.0f, kInf}));
  EXPECT_EQ(Run<uint16_t>(OpId::ELEMENT_WISE_MAX, DataType::kFloat16,
                          std::vector<uint16_t>{0x7C01, Half(0.0)},
                          std::vector<uint16_t>{Half(1), Half(-0.0)}),
            (std::vector<uint16_t>{Half(1), Half(0.0)}));
}

TEST_P(OperatorEdgeTest, ClipPutsMinBeforeMax) {
  Set(-1, 2);
  const std::vector<float> x = {-5, 5, 0.5f, kNan, kInf};
  EXPECT_EQ(Run<float>(OpId::ELEMENT_WISE_CLIP, DataType::kFloat32, x),
            (std::vector<float>{-1, 2, 0.5f, 2, 2}));
  Set(3, 2);
  EXPECT_EQ(Run<float>(OpId::ELEMENT_WISE_CLIP, DataType::kFloat32, x),
            (std::vector<float>{3, 3, 3, 3, 3}));
  Set(0, 9);
  EXPECT_EQ(
      BitsOf(Run<float>(OpId::ELEMENT_WISE_CLIP, DataType::kFloat32, std::vector<float>{-0.0f})),
      BitsOf(std::vector<float>{0.0f}));
  Set(0, 1e6f);
  EXPECT_EQ(
      Run<uint16_t>(OpId::ELEMENT_WISE_CLIP, DataType::kFloat16, std::vector<uint16_t>{0x7C00}),
      (std::vector<uint16_t>{0x7C00}));
}

// Limits of integers are truncated and saturated first.
TEST_P(OperatorEdgeTest, LimitsOfIntegers) {
  Set(-2.7f, 1e6f);
  EXPECT_EQ(
      Run<int32_t>(OpId::ELEMENT_WISE_CLIP, DataType::kInt32, std::vector<int32_t>{-9, 2000000}),
      (std::vector<int32_t>{-2, 1000000}));
  EXPECT_EQ(Run<uint8_t>(OpId::ELEMENT_WISE_CLIP, DataType::kUint8, std::vector<uint8_t>{0, 255}),
            (std::vector<uint8_t>{0, 255}));
  Set(kNan, kInf);
  EXPECT_EQ(
      Run<int64_t>(OpId::ELEMENT_WISE_CLIP, DataType::kInt64, std::vector<int64_t>{-9, INT64_MAX}),
      (std::vector<int64_t>{0, INT64_MAX}));
  Set(1.5f);
  EXPECT_EQ(
      Run<int16_t>(OpId::ELEMENT_WISE_THRESHOLD, DataType::kInt16, std::vector<int16_t>{0, 1, 2}),
      (std::vector<int16_t>{1, 1, 2}));
}

TEST_P(OperatorEdgeTest, GradientsPassWithAllTheirBits) {
  Set(-1, 1);
  const std::vector<float> x = {0, -1, 1, kNan, 0.5f};
  const std::vector<uint32_t> gradient = {kSignallingNan, 1, 1, 1, 0x80000000};
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_CLIP_GRAD, DataType::kFloat32, x, gradient),
            (std::vector<uint32_t>{kSignallingNan, 0, 0, 0, 0x80000000}));
  EXPECT_EQ(Run<uint32_t>(OpId::ACTIVATION_RELU_GRAD, DataType::kFloat32, x, gradient),
            (std::vector<uint32_t>{0, 0, 1, 0, 0x80000000}));
  EXPECT_EQ(Run<uint16_t>(OpId::ACTIVATION_RELU_GRAD, DataType::kFloat16,
                          std::vector<uint16_t>{Half(1), 0x7E00}, std::vector<uint16_t>{0x7C01, 1}),
            (std::vector<uint16_t>{0x7C01, 0}));
}

TEST_P(OperatorEdgeTest, RemaindersOfFlooredDivisions) {
  EXPECT_EQ(Run<int32_t>(OpId::ELEMENT_WISE_MODULUS_FLOOR, DataType::kInt32,
                         std::vector<int32_t>{-7, 7, 7, -7, INT32_MIN, 5, -5},
                         std::vector<int32_t>{3, -3, 3, -3, -1, 0, 0}),
            (std::vector<int32_t>{2, -2, 1, -1, 0, -1, 1}));
  EXPECT_EQ(Run<uint16_t>(OpId::ELEMENT_WISE_MODULUS_FLOOR, DataType::kUint16,
                          std::vector<uint16_t>{7, 7}, std::vector<uint16_t>{0, 4}),
            (std::vector<uint16_t>{0xFFFF, 3}));
  EXPECT_EQ(BitsOf(Run<float>(OpId::ELEMENT_WISE_MODULUS_FLOOR, DataType::kFloat32,
                              std::vector<float>{-1e-10f, 6, -6, 5, 5, -0.0f},
                              std::vector<float>{3, -3, 3, kInf, -kInf, 3})),
            BitsOf(std::vector<float>{3, -0.0f, 0.0f, 5, -kInf, 0.0f}));
}

INSTANTIATE_TEST_SUITE_P(AllTargets, OperatorEdgeTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
