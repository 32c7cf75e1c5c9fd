// FLOAT16 rounding, on every instruction set: what an element becomes does not depend on how many
// come with it, on where infinities and NaNs lie among them, or on how results are stored.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

using cpu::StoreMode;

class RoundingBlocksTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static void Run(int mode, const uint16_t* x, uint16_t* result, size_t count, StoreMode store) {
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(x)};
    const cpu::KernelVariant variant = {
        .lane = DataType::kFloat16, .output = DataType::kFloat16, .mode = mode};
    cpu::GetKernel(OpId::ELEMENT_WISE_ROUND, variant)(in, reinterpret_cast<std::byte*>(result),
                                                      count, store, {});
  }

  // The results of elements that come alone.
  static std::vector<uint16_t> OneByOne(int mode, const std::vector<uint16_t>& x) {
    std::vector<uint16_t> result(x.size());
    for (size_t i = 0; i < x.size(); ++i) Run(mode, &x[i], &result[i], 1, StoreMode::kCached);
    return result;
  }

  // All values in an order that mixes them; `numbers`: without infinities and NaNs.
  static std::vector<uint16_t> AllValues(bool numbers) {
    std::vector<uint16_t> values;
    for (uint32_t i = 0; i < 0x10000; ++i) {
      const auto value = static_cast<uint16_t>(i * 40503);
      if (!numbers || (value & 0x7C00) != 0x7C00) values.push_back(value);
    }
    return values;
  }

  // Infinities stay, NaNs become quiet, and numbers are `expected`.
  static bool IsRight(const std::vector<uint16_t>& x, const std::vector<uint16_t>& expected,
                      const std::vector<uint16_t>& result) {
    for (size_t i = 0; i < x.size(); ++i) {
      const int magnitude = x[i] & 0x7FFF;
      const bool is_right = magnitude > 0x7C00    ? (result[i] & 0x7E00) == 0x7E00
                            : magnitude == 0x7C00 ? result[i] == x[i]
                                                  : result[i] == expected[i];
      if (!is_right) return false;
    }
    return true;
  }

  static void ExpectRight(int mode, const std::vector<uint16_t>& x,
                          const std::vector<uint16_t>& expected) {
    std::vector<uint16_t> result(x.size());
    for (const StoreMode store : {StoreMode::kCached, StoreMode::kStreaming}) {
      std::fill(result.begin(), result.end(), uint16_t{0});
      Run(mode, x.data(), result.data(), x.size(), store);
      EXPECT_TRUE(IsRight(x, expected, result)) << "mode " << mode;
    }
    result = x;
    Run(mode, result.data(), result.data(), result.size(), StoreMode::kInPlace);
    EXPECT_TRUE(IsRight(x, expected, result)) << "mode " << mode << ", in place";
  }
};

TEST_P(RoundingBlocksTest, AllValues) {
  const ScopedTarget target(GetParam());
  const std::vector<uint16_t> x = AllValues(false);
  for (const int mode : {0, 1, 2}) ExpectRight(mode, x, OneByOne(mode, x));
}

// One of them at many places of tensors of several blocks, of vectors and of odd elements.
TEST_P(RoundingBlocksTest, OneValueThatIsNoNumber) {
  const ScopedTarget target(GetParam());
  std::vector<uint16_t> x = AllValues(true);
  x.resize(5003);
  for (const int mode : {0, 1, 2}) {
    const std::vector<uint16_t> expected = OneByOne(mode, x);
    for (size_t place = 0; place < x.size(); place += 211) {
      for (const uint16_t special : {0x7C00, 0xFC00, 0x7C01, 0xFD00, 0x7E00, 0xFFFF}) {
        std::vector<uint16_t> with = x;
        with[place] = special;
        ExpectRight(mode, with, expected);
        ASSERT_FALSE(HasFailure()) << special << " at " << place;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, RoundingBlocksTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
