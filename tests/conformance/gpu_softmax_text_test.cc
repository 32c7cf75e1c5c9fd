// The text of the GPU kernels of softmax and its logarithm against MPFR, run by the processor, and
// that its sums have no order. tests/gpu compares the kernels made of it with the processor's.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference_ops.h"
#include "tests/conformance/exact_values.h"
#include "tests/conformance/gpu_text.h"

namespace opserve::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

constexpr OpId kOps[] = {OpId::ACTIVATION_SOFTMAX, OpId::ACTIVATION_LOG_SOFTMAX};

uint32_t BitsOf(DataType type, double number) {
  if (type == DataType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(number));
  return reference::ToHalf(number).bits;
}

float NumberOf(DataType type, uint32_t bits) {
  if (type == DataType::kFloat32) return std::bit_cast<float>(bits);
  return reference::ToFloat({static_cast<uint16_t>(bits)});
}

std::vector<uint32_t> BitsOf(DataType type, const std::vector<float>& row) {
  std::vector<uint32_t> bits;
  for (const float x : row) bits.push_back(BitsOf(type, x));
  return bits;
}

class GpuSoftmaxTextTest : public ::testing::Test {
 protected:
  // Compares the results with the exact ones, and counts those left open.
  void Check(OpId op, DataType type, const std::vector<float>& numbers) {
    const std::vector<uint32_t> bits = BitsOf(type, numbers);
    std::vector<float> row;
    for (const uint32_t x : bits) row.push_back(NumberOf(type, x));
    const std::vector<double> exact =
        op == OpId::ACTIVATION_SOFTMAX ? ExactSoftmax(row) : ExactLogSoftmax(row);
    const std::vector<GpuElement> results = GpuRowOf(op, type, bits);
    ASSERT_EQ(results.size(), row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      ++elements_;
      open_ += results[i].is_open ? 1 : 0;
      if (results[i].is_open) continue;
      ASSERT_EQ(results[i].bits, BitsOf(type, exact[i]))
          << "element " << i << " of " << row.size() << ", " << std::hexfloat << row[i];
    }
  }

  std::mt19937_64 random_{20261126};
  int64_t elements_ = 0;
  int64_t open_ = 0;
};

// Spread, dominated by one, of all magnitudes, with equal ones and minus infinities.
TEST_F(GpuSoftmaxTextTest, ResultsAreRoundedOnce) {
  std::vector<std::vector<float>> rows = {{0},
                                          {0, -100},
                                          {3, 3, 3},
                                          {-kInfinity, 1, 1},
                                          {60000, -60000},
                                          {0, -104},
                                          {0, -102.8f, -103},
                                          {0, -87, -87.5},
                                          {kLeast, -kLeast},
                                          {0, -0x1p-10f},
                                          {0, -0.985f, -0.3413f, -0.3413f}};
  std::normal_distribution<float> near(0, 4);
  for (const size_t length : {1, 2, 3, 5, 33, 100, 1000}) {
    for (int kind = 0; kind < 5; ++kind) {
      for (int i = 0; i < 6; ++i) {
        std::vector<float>& row = rows.emplace_back(length);
        for (float& x : row) {
          const float any = std::ldexp(near(random_), static_cast<int>(random_() % 30) - 20);
          x = kind == 0   ? near(random_)
              : kind == 1 ? near(random_) - 95
              : kind == 2 ? any
              : kind == 3 ? std::round(near(random_))
                          : near(random_) * 8 - 30;
          if (kind == 3 && random_() % 5 == 0) x = -kInfinity;
        }
        if (kind == 1 || kind == 4 || std::isinf(row[0])) row[0] = 2;
      }
    }
  }
  for (const OpId op : kOps) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      for (const std::vector<float>& row : rows) Check(op, type, row);
      if (HasFailure()) return;
    }
    Check(op, DataType::kFloat32, {kMost, -kMost});
    Check(op, DataType::kFloat32, {kMost, kMost, kMost});
  }
  EXPECT_GT(elements_, 130'000);
  EXPECT_EQ(open_, 0);
}

// Where elements are nearly equal, SOFTMAX is nearly 1 / n + (x - mean) / n, which may be a middle.
TEST_F(GpuSoftmaxTextTest, NearlyEqualElementsMayBeLeftOpen) {
  std::normal_distribution<float> near(0, 4);
  for (const OpId op : kOps) {
    Check(op, DataType::kFloat32, {1, 1 - 0x1p-24f});
    for (int i = 0; i < 300; ++i) {
      std::vector<float> row(2 + random_() % 40);
      for (float& x : row) x = 1 + std::ldexp(near(random_), -20);
      Check(op, DataType::kFloat32, row);
    }
  }
  EXPECT_GT(open_, 0);
  EXPECT_LT(open_ * 200, elements_);
}

TEST_F(GpuSoftmaxTextTest, NanAndInfinityAreOfTheWholeRow) {
  for (const OpId op : kOps) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      for (const std::vector<float>& row : {std::vector<float>{1, kQuietNan, 2},
                                            {1, kInfinity, -kInfinity},
                                            {-kInfinity, -kInfinity},
                                            {kQuietNan},
                                            {kInfinity, kInfinity}}) {
        for (const GpuElement& result : GpuRowOf(op, type, BitsOf(type, row))) {
          EXPECT_TRUE(std::isnan(NumberOf(type, result.bits)));
          EXPECT_FALSE(result.is_open);
        }
      }
    }
  }
}

// That of the exact sum may be -0, that of nothing is +0.
TEST_F(GpuSoftmaxTextTest, LogarithmsOfOneKeepTheSignOfWhatIsAdded) {
  const auto first_of = [](const std::vector<float>& row) {
    return GpuRowOf(OpId::ACTIVATION_LOG_SOFTMAX, DataType::kFloat32,
                    BitsOf(DataType::kFloat32, row))[0];
  };
  EXPECT_EQ(first_of({5}).bits, 0u);
  EXPECT_EQ(first_of({5, -kInfinity}).bits, 0u);
  EXPECT_EQ(first_of({5, -300}).bits, 0x80000000u);
  EXPECT_EQ(first_of({5, -kMost}).bits, 0x80000000u);
}

// In any order, and so in any parts.
TEST_F(GpuSoftmaxTextTest, SumsHaveNoOrder) {
  std::normal_distribution<float> near(0, 12);
  std::vector<float> row(2000);
  for (float& x : row) x = near(random_);
  for (const OpId op : kOps) {
    std::vector<uint32_t> bits = BitsOf(DataType::kFloat32, row);
    std::sort(bits.begin(), bits.end());
    const std::vector<GpuElement> sorted = GpuRowOf(op, DataType::kFloat32, bits);
    std::reverse(bits.begin(), bits.end());
    std::vector<GpuElement> turned = GpuRowOf(op, DataType::kFloat32, bits);
    std::reverse(turned.begin(), turned.end());
    for (size_t i = 0; i < turned.size(); ++i) ASSERT_EQ(turned[i].bits, sorted[i].bits);
  }
}

TEST_F(GpuSoftmaxTextTest, OtherOperatorsHaveNone) {
  const std::vector<uint32_t> row = {0};
  EXPECT_TRUE(GpuRowOf(OpId::ACTIVATION_HARDMAX, DataType::kFloat32, row).empty());
  EXPECT_TRUE(GpuRowOf(OpId::ACTIVATION_SOFTMAX, DataType::kFloat64, row).empty());
}

}  // namespace
}  // namespace opserve::testing
