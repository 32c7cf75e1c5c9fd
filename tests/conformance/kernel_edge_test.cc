// Results that users ask about, spelled out: halves, infinities, remainders at the edges of types.
// The reference could share a mistake with the kernels; these values are written by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

template <class T>
uint64_t Bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

class KernelEdgeTest : public ::testing::TestWithParam<int64_t> {
 protected:
  template <class TOut, class... TIn>
  std::vector<TOut> Run(OpId op, DataType lane, int mode, const std::vector<TIn>&... inputs) {
    const std::byte* pointers[] = {reinterpret_cast<const std::byte*>(inputs.data())...};
    const size_t count = std::min({inputs.size()...});
    std::vector<TOut> output(count);
    const DataType result = TraitsOf(op).OutputTypes(lane).last();
    cpu::GetKernel(op, {lane, result, mode})(pointers, reinterpret_cast<std::byte*>(output.data()),
                                             count, cpu::StoreMode::kCached, {});
    return output;
  }

  void ExpectRound(int mode, const std::vector<float>& inputs, const std::vector<float>& expected) {
    const auto floats = Run<float>(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32, mode, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(Bits(floats[i]), Bits(expected[i]))
          << "round(" << inputs[i] << ") is " << floats[i] << ", mode " << mode;
    }
  }

  // Remainders of x[i] and y[i].
  template <class T>
  void ExpectRemainders(DataType type, const std::vector<T>& x, const std::vector<T>& y,
                        const std::vector<T>& expected) {
    const auto actual = Run<T>(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, type, 0, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(Bits(actual[i]), Bits(expected[i])) << +x[i] << " mod " << +y[i];
    }
  }

  template <class T>
  void ExpectSignedEdges(DataType type) {
    constexpr T kMin = std::numeric_limits<T>::min();
    constexpr T kMax = std::numeric_limits<T>::max();
    ExpectRemainders<T>(type, {kMin, kMin, kMin, kMax, kMax, 7, -7, 7, -7, 5, -5, 0, 0},
                        {-1, kMax, kMin, kMin, -1, 3, 3, -3, -3, 0, 0, 0, kMin},
                        {0, -1, 0, kMax, 0, 1, -1, 1, -1, 5, -5, 0, 0});
  }

  template <class T>
  void ExpectUnsignedEdges(DataType type) {
    constexpr T kMax = std::numeric_limits<T>::max();
    constexpr T kAllOnes = static_cast<T>(~T{0});
    ExpectRemainders<T>(type, {0, 1, kMax, kMax, kMax, 7, kMax, T(kMax - 1)},
                        {0, 0, 0, kMax, T(kMax - 1), 3, 2, kMax},
                        {kAllOnes, kAllOnes, kAllOnes, 0, 1, 1, 1, T(kMax - 1)});
  }

 private:
  ScopedTarget target_{GetParam()};
};

TEST_P(KernelEdgeTest, RoundsHalvesToEven) {
  ExpectRound(0, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, -0.0f, 8388607.5f, 1e30f},
              {0.0f, 2.0f, 2.0f, -0.0f, -2.0f, -2.0f, 0.0f, -0.0f, 8388608.0f, 1e30f});
}

TEST_P(KernelEdgeTest, RoundsTowardZero) {
  ExpectRound(1, {0.9f, -0.4f, -1.75f, 2.5f, -0.0f, kInf, -kInf, 4194303.5f},
              {0.0f, -0.0f, -1.0f, 2.0f, -0.0f, kInf, -kInf, 4194303.0f});
}

TEST_P(KernelEdgeTest, RoundsHalvesAwayFromZero) {
  ExpectRound(2, {0.5f, -0.5f, 2.5f, 0.49999997f, -0.49999997f, 8388609.0f, 4194303.5f, -0.0f},
              {1.0f, -1.0f, 3.0f, 0.0f, -0.0f, 8388609.0f, 4194304.0f, -0.0f});
}

TEST_P(KernelEdgeTest, RoundsHalfPrecision) {
  using reference::ToHalf;
  std::vector<uint16_t> inputs;
  for (float x : {0.5f, 1.5f, 2.5f, -0.5f, 1023.5f, 65504.0f}) inputs.push_back(ToHalf(x).bits);
  const auto expect = [&](int mode, const std::vector<float>& expected) {
    const auto actual = Run<uint16_t>(OpId::ELEMENT_WISE_ROUND, DataType::kFloat16, mode, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(actual[i], ToHalf(expected[i]).bits);
  };
  expect(0, {0.0f, 2.0f, 2.0f, -0.0f, 1024.0f, 65504.0f});
  expect(1, {0.0f, 1.0f, 2.0f, -0.0f, 1023.0f, 65504.0f});
  expect(2, {1.0f, 2.0f, 3.0f, -1.0f, 1024.0f, 65504.0f});
}

TEST_P(KernelEdgeTest, TellsInfinities) {
  const std::vector<float> inputs = {kInf, -kInf, kNan, -kNan, 3.4028235e38f, 0.0f, 1e-45f};
  const auto run = [&](int mode) {
    return Run<uint8_t>(OpId::ELEMENT_WISE_IS_INFINITY, DataType::kFloat32, mode, inputs);
  };
  EXPECT_EQ(run(0), (std::vector<uint8_t>{1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run(1), (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run(2), (std::vector<uint8_t>{0, 1, 0, 0, 0, 0, 0}));
}

TEST_P(KernelEdgeTest, SelectsByAnyNonZeroByteAndKeepsBits) {
  const std::vector<uint8_t> condition = {0, 1, 2, 0x80, 0xFF, 0};
  const std::vector<uint32_t> a = {1, 0x7F800001, 0x80000000, 0xFFBFFFFF, 0x00000001, 6};
  const std::vector<uint32_t> b = {0xFF800001, 2, 3, 4, 5, 0x80000001};
  EXPECT_EQ(Run<uint32_t>(OpId::ELEMENT_WISE_IF, DataType::kFloat32, 0, condition, a, b),
            (std::vector<uint32_t>{0xFF800001, 0x7F800001, 0x80000000, 0xFFBFFFFF, 1, 0x80000001}));
}

TEST_P(KernelEdgeTest, FloatRemainders) {
  ExpectRemainders<float>(
      DataType::kFloat32,
      {7, -7, 7, -6, -0.0f, 1, 1e10f, 1e30f, 16777215, 5, -5, 1e-45f, 1e38f, 3.4028235e38f},
      {-3, 3, 3, 3, 5, 0.1f, 3, 3, 2, kInf, -kInf, kInf, 1e-5f, 1e-45f},
      {1, -1, 1, -0.0f, -0.0f, 0.099999987f, 1, std::fmod(1e30f, 3.0f), 1, 5, -5, 1e-45f,
       std::fmod(1e38f, 1e-5f), 0});
  for (float nan : Run<float>(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kFloat32, 0,
                              std::vector<float>{1, 0, kInf, -kInf, kNan, 1, kInf},
                              std::vector<float>{0, -0.0f, 3, 1, 1, kNan, kInf})) {
    EXPECT_TRUE(std::isnan(nan));
  }
}

TEST_P(KernelEdgeTest, IntegerRemainders) {
  ExpectSignedEdges<int8_t>(DataType::kInt8);
  ExpectSignedEdges<int16_t>(DataType::kInt16);
  ExpectSignedEdges<int32_t>(DataType::kInt32);
  ExpectSignedEdges<int64_t>(DataType::kInt64);
  ExpectUnsignedEdges<uint8_t>(DataType::kUint8);
  ExpectUnsignedEdges<uint16_t>(DataType::kUint16);
  ExpectUnsignedEdges<uint32_t>(DataType::kUint32);
  ExpectUnsignedEdges<uint64_t>(DataType::kUint64);
}

TEST(KernelTableTest, HasAKernelForEveryCellOnEveryTarget) {
  for (int64_t target : RunnableTargets()) {
    const ScopedTarget scoped(target);
    for (const Cell& cell : AllCells()) {
      for (int mode = 0; mode < cell.mode_count(); ++mode) {
        EXPECT_NE(cpu::GetKernel(cell.op->id, cell.variant(mode)), nullptr) << cell.name();
      }
      EXPECT_EQ(cpu::GetKernel(cell.op->id, cell.variant(cell.mode_count())), nullptr);
    }
    EXPECT_EQ(CpuTargetName(), TargetName(target));
  }
}

TEST(KernelTableTest, HasNoKernelForOtherTypes) {
  EXPECT_EQ(cpu::GetKernel(OpId::ELEMENT_WISE_ROUND, {DataType::kInt32, DataType::kInt32}),
            nullptr);
  EXPECT_EQ(
      cpu::GetKernel(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, {DataType::kFloat64, DataType::kFloat64}),
      nullptr);
  EXPECT_EQ(cpu::GetKernel(OpId::ELEMENT_WISE_IF, {DataType::kUnknown, DataType::kUnknown}),
            nullptr);
}

INSTANTIATE_TEST_SUITE_P(AllTargets, KernelEdgeTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
