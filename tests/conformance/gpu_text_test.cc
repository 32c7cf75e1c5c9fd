// The text of GPU kernels of elementary functions and activations against MPFR, run by the
// processor. tests/gpu compares the kernels made of it with the processor's.

#include "tests/conformance/gpu_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ios>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/inputs/hard_inputs.h"
#include "kernels/attribute_settings.h"
#include "kernels/reference_ops.h"
#include "server/pool/verify/sample_values.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/exact_values.h"
#include "tests/conformance/special_values.h"

namespace opserve::testing {
namespace {

float NumberOf(DataType type, uint32_t bits) {
  if (type == DataType::kFloat32) return std::bit_cast<float>(bits);
  return reference::ToFloat({static_cast<uint16_t>(bits)});
}

uint32_t RoundedBits(DataType type, double exact) {
  if (type == DataType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(exact));
  return reference::ToHalf(exact).bits;
}

// The operators whose results are no rational numbers and that have a GPU kernel.
std::vector<OpId> OperatorsWithText() {
  std::vector<OpId> ops;
  for (const OpId op : TranscendentalOperators()) {
    if (GpuBodyOf(op, DataType::kFloat32) != nullptr) ops.push_back(op);
  }
  return ops;
}

// Special values, any bits, and numbers where most functions have their bends.
std::vector<uint32_t> Elements(DataType type, size_t count, std::mt19937_64& random) {
  std::vector<uint32_t> elements;
  for (const uint64_t bits : SpecialValues(type)) elements.push_back(static_cast<uint32_t>(bits));
  std::uniform_real_distribution<double> near(-12, 12);
  const auto mask = static_cast<uint32_t>((uint64_t{1} << SizeOf(type) * 8) - 1);
  while (elements.size() < count) {
    elements.push_back(RoundedBits(type, near(random)));
    elements.push_back(static_cast<uint32_t>(random()) & mask);
  }
  return elements;
}

class GpuTextTest : public ::testing::TestWithParam<OpId> {
 protected:
  const OpTraits& op() const { return TraitsOf(GetParam()); }

  // Compares the results for pairs (x[i], y[i]) with the exact ones, and counts those left open.
  void Check(DataType type, int setting, const std::vector<uint32_t>& x,
             const std::vector<uint32_t>& y) {
    const auto call = MakeCall({&op(), type, type}, setting, Packed(1));
    ASSERT_NE(call, nullptr);
    const GpuBody body = GpuBodyOf(GetParam(), type);
    const auto attribute = [&](size_t i) {
      return std::bit_cast<float>(static_cast<uint32_t>(call->attributes[i]));
    };
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 5; ++i) {
      const GpuElement actual = body(x[i], y[i], call->attributes);
      ++elements_;
      open_ += actual.is_open ? 1 : 0;
      const float a = NumberOf(type, x[i]);
      const float b = NumberOf(type, y[i]);
      const double exact = ExactResult(GetParam(), {{a, b}, {attribute(0), attribute(1)}});
      const float nearest = NumberOf(type, RoundedBits(type, exact));
      const float result = NumberOf(type, actual.bits);
      const bool is_same =
          std::isnan(nearest) ? std::isnan(result) : RoundedBits(type, exact) == actual.bits;
      if (is_same || actual.is_open) continue;
      ++wrong;
      ADD_FAILURE() << "attributes " << attribute(0) << " and " << attribute(1) << ": "
                    << std::hexfloat << a << " (and " << b << ") give " << result << ", not "
                    << nearest;
    }
  }

  int elements() const { return elements_; }
  int open() const { return open_; }

 private:
  int elements_ = 0;
  int open_ = 0;
};

TEST_P(GpuTextTest, Float32IsRoundedOnceOrLeftOpen) {
  std::mt19937_64 random(20261126);
  for (int setting = 0; setting < PlainSettingCount(op()); ++setting) {
    const size_t count = setting == 0 ? 8000 : 1000;
    const auto x = Elements(DataType::kFloat32, count, random);
    const auto y = Elements(DataType::kFloat32, count, random);
    Check(DataType::kFloat32, setting, x, y);
  }
  EXPECT_LT(open(), elements() / 20);
}

// All numbers, with the first attributes.
TEST_P(GpuTextTest, Float16IsRoundedOnceOrLeftOpen) {
  std::mt19937_64 random(20261127);
  std::vector<uint32_t> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) all.push_back(bits);
  Check(DataType::kFloat16, 0, all, Elements(DataType::kFloat16, all.size(), random));
  for (int setting = 1; setting < PlainSettingCount(op()); ++setting) {
    const auto x = Elements(DataType::kFloat16, 1000, random);
    Check(DataType::kFloat16, setting, x, x);
  }
  EXPECT_LT(open(), elements() / 20);
}

// A device's self-test takes them where hard values are left open.
TEST_P(GpuTextTest, UsualValuesOfOneSignAreNotLeftOpen) {
  std::mt19937_64 random(20261129);
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    const GpuBody body = GpuBodyOf(GetParam(), type);
    for (int setting = 0; setting < PlainSettingCount(op()); ++setting) {
      const auto call = MakeCall({&op(), type, type}, setting, Packed(1));
      ASSERT_NE(call, nullptr);
      const auto count = [&](SampleValues values) {
        std::vector<std::byte> x(4096 * SizeOf(type));
        std::vector<std::byte> y(x.size());
        FillWithSamples(type, values, random, x);
        FillWithSamples(type, values, random, y);
        int open = 0;
        for (size_t at = 0; at < x.size(); at += SizeOf(type)) {
          const auto bits = [&](const std::vector<std::byte>& elements) {
            return static_cast<uint32_t>(ReadBits(elements.data() + at, SizeOf(type)));
          };
          open += body(bits(x), bits(y), call->attributes).is_open ? 1 : 0;
        }
        return open;
      };
      EXPECT_EQ(std::min(count(SampleValues::kUsual), count(SampleValues::kUsualNegative)), 0)
          << NameOf(type) << ", setting " << setting;
    }
  }
}

// Of one number there are few enough that all digits needed are known.
TEST_P(GpuTextTest, FunctionsOfOneNumberLeaveNothingOpen) {
  if (op().input_count() > 1 || !op().attributes.empty()) return;
  std::mt19937_64 random(20261128);
  const auto x = Elements(DataType::kFloat32, 8000, random);
  Check(DataType::kFloat32, 0, x, x);
  EXPECT_EQ(open(), 0);
}

// Those inputs of each range whose results are next to the middle of two elements.
TEST_P(GpuTextTest, HardestInputsAreRoundedOnce) {
  if (op().input_count() > 1 || !op().attributes.empty()) return;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    const HardInputs* const hard = FindHardInputs(op().name, type);
    ASSERT_NE(hard, nullptr);
    const std::vector<uint32_t> x = WithBothSigns(*hard);
    Check(type, 0, x, x);
  }
  EXPECT_EQ(open(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTextTest, ::testing::ValuesIn(OperatorsWithText()),
                         [](const auto& instance) {
                           return std::string(TraitsOf(instance.param).name);
                         });

// Half of an odd number of the smallest kind, and a little less.
TEST(GpuTextOpenTest, ElementsNextToAMiddleAreLeftOpen) {
  AttributeValues attributes = {std::bit_cast<uint32_t>(0.5f)};
  const GpuBody elu = GpuBodyOf(OpId::ACTIVATION_ELU, DataType::kFloat32);
  EXPECT_TRUE(elu(0x80000003, 0, attributes).is_open);
  EXPECT_FALSE(elu(0x80000004, 0, attributes).is_open);
  EXPECT_FALSE(elu(0xbf800000, 0, attributes).is_open);
}

// Alpha below zero makes powers of up to 2^277, which are further off than others.
TEST(GpuTextOpenTest, LargePowersOfCeluAreRoundedOnceOrLeftOpen) {
  const GpuBody celu = GpuBodyOf(OpId::ACTIVATION_CELU, DataType::kFloat32);
  constexpr std::pair<uint32_t, uint32_t> kNextToMiddles[] = {
      {0xc3244668, 0xbffcd454}, {0xc3076103, 0xbfcc9f46}, {0x8484b0cb, 0x80db659b},
      {0x848f2afa, 0x80d7e80e}, {0x84935afa, 0x80e0cc1b}, {0x8488453c, 0x80d06dad}};
  for (const auto& [x, alpha] : kNextToMiddles) {
    const GpuElement element = celu(x, 0, AttributeValues{alpha});
    const double exact = ExactResult(OpId::ACTIVATION_CELU,
                                     {{std::bit_cast<float>(x)}, {std::bit_cast<float>(alpha)}});
    EXPECT_TRUE(element.is_open || element.bits == RoundedBits(DataType::kFloat32, exact))
        << std::hex << x << " with " << alpha;
  }
}

// Squares, cubes and powers of roots are often exactly in the middle of two elements.
TEST(GpuTextOpenTest, PowersInTheMiddleAreRoundedToEven) {
  int middles = 0;
  for (const float exponent : {2.0f, 3.0f, 1.5f, 0.75f, -1.0f}) {
    for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
      const float x = NumberOf(DataType::kFloat16, bits);
      const GpuElement power =
          GpuPower(DataType::kFloat16, bits, DataType::kFloat32, std::bit_cast<uint32_t>(exponent));
      const double exact = ExactResult(OpId::ELEMENT_WISE_POW, {{x, exponent}, {}});
      ASSERT_FALSE(power.is_open) << std::hexfloat << x << " to " << exponent;
      ASSERT_EQ(power.bits, RoundedBits(DataType::kFloat16, exact))
          << std::hexfloat << x << " to " << exponent;
      const float nearest = NumberOf(DataType::kFloat16, power.bits);
      const float other = static_cast<float>(2 * exact - nearest);
      middles +=
          std::isfinite(other) && other != nearest &&
                  NumberOf(DataType::kFloat16, RoundedBits(DataType::kFloat16, other)) == other
              ? 1
              : 0;
    }
  }
  EXPECT_GT(middles, 100);
}

// Of FLOAT32: 2^-150 is half of the least number, and squares of numbers of 13 digits have 25. The
// exponent may have more digits than a FLOAT32.
TEST(GpuTextOpenTest, PowersOfFewDigitsAreDecided) {
  const auto power = [](float x, DataType type, uint32_t exponent) {
    const GpuElement element =
        GpuPower(DataType::kFloat32, std::bit_cast<uint32_t>(x), type, exponent);
    EXPECT_FALSE(element.is_open) << std::hexfloat << x << " to " << exponent;
    return std::bit_cast<float>(element.bits);
  };
  EXPECT_EQ(power(0.5f, DataType::kUint8, 150), 0);
  EXPECT_EQ(power(0.5f, DataType::kInt32, 149), 0x1p-149f);
  EXPECT_EQ(power(-0.5f, DataType::kInt16, 149), -0x1p-149f);
  EXPECT_EQ(power(0x1.001p0f, DataType::kUint32, 2), 0x1.002p0f);
  EXPECT_EQ(power(0x1.003p0f, DataType::kInt8, 2), 0x1.006008p0f);
  EXPECT_EQ(power(1 + 0x1p-23f, DataType::kUint32, 0x20000001),
            static_cast<float>(std::pow(1 + 0x1p-23, 536870913.0)));
  EXPECT_EQ(power(-1, DataType::kUint32, 0xffffffff), -1);
  EXPECT_EQ(power(-1, DataType::kUint32, 0xfffffffe), 1);
}

// Proofs evaluate the text in many threads.
TEST(GpuTextOpenTest, ThreadsLeaveElementsOpenEachForItself) {
  const AttributeValues attributes = {std::bit_cast<uint32_t>(0.5f)};
  const GpuBody elu = GpuBodyOf(OpId::ACTIVATION_ELU, DataType::kFloat32);
  const auto count_open = [&](uint32_t x, int& open) {
    for (int i = 0; i < 20'000; ++i) open += elu(x, 0, attributes).is_open ? 1 : 0;
  };
  int in_middle = 0;
  int elsewhere = 0;
  std::thread other(count_open, 0x80000004, std::ref(elsewhere));
  count_open(0x80000003, in_middle);
  other.join();
  EXPECT_EQ(in_middle, 20'000);
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace
}  // namespace opserve::testing
