// Softmax and its logarithm against MPFR on every instruction set, and what is said of whole rows:
// infinite and equal elements, NaN, permutations.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "client/inputs/hard_inputs.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/row_scratch.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/exact_values.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

using reference::Float16;
using reference::ToFloat;
using reference::ToHalf;

constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

std::vector<float> Computed(OpId op, const std::vector<float>& row) {
  std::vector<float> results(row.size());
  cpu::GetRowKernel(op, DataType::kFloat32)(reinterpret_cast<const std::byte*>(row.data()),
                                            reinterpret_cast<std::byte*>(results.data()),
                                            row.size());
  return results;
}

// Of elements that FLOAT16 has.
std::vector<float> ComputedInHalf(OpId op, const std::vector<float>& row) {
  std::vector<Float16> elements;
  for (float x : row) elements.push_back(ToHalf(x));
  std::vector<Float16> results(row.size());
  cpu::GetRowKernel(op, DataType::kFloat16)(reinterpret_cast<const std::byte*>(elements.data()),
                                            reinterpret_cast<std::byte*>(results.data()),
                                            elements.size());
  std::vector<float> numbers;
  for (Float16 x : results) numbers.push_back(ToFloat(x));
  return numbers;
}

// Spread, dominated by one, next to each other, of all magnitudes, with minus infinities, and
// large.
std::vector<std::vector<float>> Rows(std::mt19937_64& random) {
  // The last two have results next to a middle, by less than any sum in FLOAT64 shows.
  std::vector<std::vector<float>> rows = {{0, -100},         {3, 3, 3},         {-kInf, 1, 1},
                                          {kMost, -kMost},   {kLeast, -kLeast}, {1, 1 - 0x1p-24f},
                                          {0.5f, -0x1p+23f}, {0x3p-23f, 0}};
  std::normal_distribution<float> near(0, 4);
  for (const size_t length : {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 100, 1000, 4099}) {
    for (int kind = 0; kind < 6; ++kind) {
      std::vector<float>& row = rows.emplace_back(length);
      for (float& x : row) {
        x = kind == 0   ? near(random)
            : kind == 1 ? near(random) - 95
            : kind == 2 ? 1 + std::ldexp(near(random), -20)
            : kind == 3 ? std::ldexp(near(random), static_cast<int>(random() % 40) - 20)
            : kind == 4 ? std::round(near(random))
                        : near(random) - 0x1p17f;
        if (kind == 4 && random() % 5 == 0) x = -kInf;
      }
      if (kind == 1 || std::isinf(row[0])) row[0] = 2;
    }
  }
  return rows;
}

class SoftmaxTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static void ExpectSame(const std::vector<float>& actual, const std::vector<float>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
          << "element " << i << " of " << actual.size() << ": " << std::hexfloat << actual[i]
          << " instead of " << expected[i];
    }
  }

  static void ExpectExact(OpId op, const std::vector<float>& row) {
    const bool is_log = op == OpId::ACTIVATION_LOG_SOFTMAX;
    std::vector<float> halves;
    for (float x : row) halves.push_back(ToFloat(ToHalf(x)));
    std::vector<float> expected;
    for (double exact : is_log ? ExactLogSoftmax(row) : ExactSoftmax(row)) {
      expected.push_back(static_cast<float>(exact));
    }
    ExpectSame(Computed(op, row), expected);
    if (std::any_of(halves.begin(), halves.end(), [](float x) { return x == kInf; })) return;
    if (std::all_of(halves.begin(), halves.end(), [](float x) { return x == -kInf; })) return;
    expected.clear();
    for (double exact : is_log ? ExactLogSoftmax(halves) : ExactSoftmax(halves)) {
      expected.push_back(ToFloat(ToHalf(exact)));
    }
    ExpectSame(ComputedInHalf(op, halves), expected);
  }

  std::mt19937_64 random_{20261127};

 private:
  ScopedTarget target_{GetParam()};
};

constexpr OpId kOps[] = {OpId::ACTIVATION_SOFTMAX, OpId::ACTIVATION_LOG_SOFTMAX};

TEST_P(SoftmaxTest, RowsAreRoundedOnce) {
  for (const std::vector<float>& row : Rows(random_)) {
    for (const OpId op : kOps) {
      ExpectExact(op, row);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(SoftmaxTest, NanAndInfinityAreOfTheWholeRow) {
  for (const OpId op : kOps) {
    for (const std::vector<float>& row : {std::vector<float>{1, kNan, 2},
                                          {1, kInf, -kInf},
                                          {-kInf, -kInf},
                                          {kNan},
                                          {-kInf},
                                          {kInf, kInf}}) {
      for (float x : Computed(op, row)) EXPECT_TRUE(std::isnan(x));
      for (float x : ComputedInHalf(op, row)) EXPECT_TRUE(std::isnan(x));
    }
  }
  ExpectSame(Computed(OpId::ACTIVATION_SOFTMAX, {-kInf, 5, -kInf}), {0, 1, 0});
  ExpectSame(Computed(OpId::ACTIVATION_LOG_SOFTMAX, {-kInf, 5, -kInf}), {-kInf, 0, -kInf});
  ExpectSame(Computed(OpId::ACTIVATION_LOG_SOFTMAX, {0, -100}), {-3.78350585e-44f, -100});
}

TEST_P(SoftmaxTest, PermutedRowsHavePermutedResults) {
  for (const std::vector<float>& row : Rows(random_)) {
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<float> permuted;
    for (size_t i : order) permuted.push_back(row[i]);
    for (const OpId op : kOps) {
      const auto results = Computed(op, row);
      std::vector<float> expected;
      for (size_t i : order) expected.push_back(results[i]);
      ExpectSame(Computed(op, permuted), expected);
      if (HasFatalFailure()) return;
    }
  }
}

// The same elements 64 times: each result is a 64th, and there is no room to keep so many
// exponentials.
TEST_P(SoftmaxTest, LongRowsAreRoundedOnce) {
  std::normal_distribution<float> near(0, 4);
  for (const float lowest : {-10.f, -100.f, -kInf}) {
    std::vector<float> row(1027);
    for (float& x : row) x = near(random_);
    row[500] = lowest;
    std::vector<float> expected = Computed(OpId::ACTIVATION_SOFTMAX, row);
    for (float& x : expected) x /= 64;
    std::vector<float> repeated;
    for (int i = 0; i < 64; ++i) repeated.insert(repeated.end(), row.begin(), row.end());
    ASSERT_GT(repeated.size(), cpu::kRowScratchSize);
    const std::vector<float> results = Computed(OpId::ACTIVATION_SOFTMAX, repeated);
    for (size_t i = 0; i < repeated.size(); i += row.size()) {
      ExpectSame({results.begin() + i, results.begin() + i + row.size()}, expected);
      if (HasFatalFailure()) return;
    }
    repeated.back() = kNan;
    for (float x : Computed(OpId::ACTIVATION_SOFTMAX, repeated)) ASSERT_TRUE(std::isnan(x));
  }
}

// e^x / (e^x + 1), and -ln(e^x + 1) beside it: some of them are decided.
TEST_P(SoftmaxTest, HardRowsAreRoundedOnce) {
  const uint64_t before = cpu::slow::DecisionCount();
  for (const uint32_t bits : FindHardInputs("ACTIVATION_SIGMOID", DataType::kFloat32)->hardest) {
    ExpectExact(OpId::ACTIVATION_SOFTMAX, {std::bit_cast<float>(bits), 0});
  }
  EXPECT_GT(cpu::slow::DecisionCount(), before);
  for (const uint32_t bits : FindHardInputs("ACTIVATION_SOFTPLUS", DataType::kFloat32)->hardest) {
    ExpectExact(OpId::ACTIVATION_LOG_SOFTMAX, {0, std::bit_cast<float>(bits)});
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, SoftmaxTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
