// Powers with exponents of every type, on every target: against the reference, and by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/op_rows.h"
#include "kernels/reference.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

class PowerTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static std::shared_ptr<const Invocation> Call(DataType base, DataType exponent, uint32_t count,
                                                bool has_scale_bias = false) {
    RequestBuilder builder("ELEMENT_WISE_POW");
    builder.Input({base, {count}}).Input({exponent, {count}});
    if (has_scale_bias) builder.Float("ScaleBias.Scale", -1.5).Float("ScaleBias.Bias", 0.75);
    return builder.Validate().invocation;
  }

  // Bases and exponents of numbers.
  template <class TBase, class TExponent>
  static std::vector<TBase> Powers(DataType base, DataType exponent, const std::vector<TBase>& x,
                                   const std::vector<TExponent>& e) {
    const auto call = Call(base, exponent, static_cast<uint32_t>(x.size()));
    std::vector<TBase> powers(x.size());
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(x.data()),
                                 reinterpret_cast<const std::byte*>(e.data())};
    CpuExecutor(1).Run(*call, inputs, reinterpret_cast<std::byte*>(powers.data()));
    return powers;
  }

  std::mt19937_64 random_{20261126};

 private:
  ScopedTarget target_{GetParam()};
};

// Every special value to the power of each other one, and small numbers, which have powers.
TEST_P(PowerTest, AllPairsOfTypesEqualTheReference) {
  for (DataType base : kAllDataTypes) {
    for (DataType exponent : kAllDataTypes) {
      if (!op_rows::kNumeric8.contains(base) || !op_rows::kNumeric8.contains(exponent)) continue;
      const std::vector<uint64_t>& x = SpecialValues(base);
      const std::vector<uint64_t>& e = SpecialValues(exponent);
      for (const bool has_scale_bias : {false, true}) {
        const auto call =
            Call(base, exponent, static_cast<uint32_t>(x.size() * e.size()), has_scale_bias);
        ASSERT_NE(call, nullptr);
        std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
        for (size_t i = 0; i < x.size() * e.size(); ++i) {
          std::memcpy(inputs[0].data() + i * SizeOf(base), &x[i / e.size()], SizeOf(base));
          std::memcpy(inputs[1].data() + i * SizeOf(exponent), &e[i % e.size()], SizeOf(exponent));
        }
        const std::vector<const std::byte*> pointers = PointersTo(inputs);
        SentinelOutput output(call->output_bytes, 0);
        CpuExecutor(1).Run(*call, pointers, output.data());
        const std::vector<std::byte> expected = ReferenceOutput(*call, pointers);
        EXPECT_EQ(Difference(*call, expected.data(), output.data()), "")
            << NameOf(base) << " to " << NameOf(exponent) << (has_scale_bias ? ", scaled" : "");
      }
    }
  }
}

TEST_P(PowerTest, IntegersSaturateOrWrap) {
  EXPECT_EQ(Powers<int8_t>(DataType::kInt8, DataType::kInt8, {2, -2, -2, 3, -1, -1, 0, 0, 1, 2},
                           std::vector<int8_t>{40, 7, 9, 4, -127, -126, 0, -1, -5, -1}),
            (std::vector<int8_t>{127, -128, -128, 81, -1, 1, 1, 0, 1, 0}));
  EXPECT_EQ(Powers<uint16_t>(DataType::kUint16, DataType::kUint32, {2, 2, 255, 256, 65535},
                             std::vector<uint32_t>{15, 4294967295, 2, 2, 1}),
            (std::vector<uint16_t>{32768, 65535, 65025, 65535, 65535}));
  EXPECT_EQ(Powers<int32_t>(DataType::kInt32, DataType::kInt16, {3, 2, 2, -3, 65537},
                            std::vector<int16_t>{21, 31, 32, 3, 2}),
            (std::vector<int32_t>{1870418611, -2147483647 - 1, 0, -27, 131073}));
}

// Those of floats are truncated, and saturate at every width.
TEST_P(PowerTest, RootsOfIntegersAreExact) {
  EXPECT_EQ(
      Powers<int32_t>(DataType::kInt32, DataType::kFloat32,
                      {25, 24, 26, 2, -8, 2, 0, 7, -2, 16, 2147395600},
                      std::vector<float>{0.5f, 0.5f, 0.5f, 31, 0.5f, kNan, -1, 0, 31, 0.75f, 0.5f}),
      (std::vector<int32_t>{5, 4, 5, 2147483647, 0, 0, 0, 1, -2147483647 - 1, 8, 46340}));
  EXPECT_EQ(Powers<uint8_t>(DataType::kUint8, DataType::kFloat16, {10, 9, 1},
                            std::vector<uint16_t>{0x4200, 0x3800, 0x7E00}),
            (std::vector<uint8_t>{255, 3, 1}));
}

TEST_P(PowerTest, FloatsFollowC) {
  const auto powers =
      Powers<float>(DataType::kFloat32, DataType::kFloat32, {0, -0.0f, kNan, 1, -1, -1, -8, -kInf},
                    std::vector<float>{-1, -3, 0, kNan, kInf, 1e10f, 0.5f, 3});
  const std::vector<float> expected = {kInf, -kInf, 1, 1, 1, 1, kNan, -kInf};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(powers[i]) : powers[i] == expected[i])
        << i << ": " << powers[i];
  }
  // The exponent's type does not narrow the power.
  EXPECT_EQ(Powers<float>(DataType::kFloat32, DataType::kInt8, {3}, std::vector<int8_t>{17}),
            std::vector<float>{129140160});
}

INSTANTIATE_TEST_SUITE_P(AllTargets, PowerTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
