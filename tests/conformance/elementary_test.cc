// Elementary functions and the activations made of them against MPFR: kernels of every target, and
// the reference that other tests hold kernels to.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/inputs/hard_inputs.h"
#include "kernels/attribute_settings.h"
#include "kernels/cpu/bound_kernel.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/reference.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/exact_values.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

using reference::Float16;
using reference::ToFloat;
using reference::ToHalf;

// An element as a number and back, by its type.
float ValueOf(float x) { return x; }
float ValueOf(Float16 x) { return ToFloat(x); }
void Round(double exact, float& to) { to = static_cast<float>(exact); }
void Round(double exact, Float16& to) { to = ToHalf(exact); }
void Take(uint64_t bits, float& to) { to = std::bit_cast<float>(static_cast<uint32_t>(bits)); }
void Take(uint64_t bits, Float16& to) { to.bits = static_cast<uint16_t>(bits); }

uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }
uint32_t BitsOf(Float16 x) { return x.bits; }

// The same bits, or a NaN for a NaN.
template <class T>
bool IsSame(T expected, T actual) {
  if (std::isnan(ValueOf(expected))) return std::isnan(ValueOf(actual));
  return BitsOf(expected) == BitsOf(actual);
}

// Special values, numbers of all magnitudes, and those where most functions have their bends.
template <class T>
std::vector<T> Elements(DataType type, size_t count, std::mt19937_64& random) {
  std::vector<T> elements;
  for (const uint64_t bits : SpecialValues(type)) {
    Take(bits, elements.emplace_back());
  }
  std::uniform_real_distribution<double> near(-12, 12);
  while (elements.size() < count) {
    T& value = elements.emplace_back();
    if (elements.size() % 2 == 0) {
      Round(near(random), value);
    } else {
      Take(random(), value);
    }
  }
  return elements;
}

// Those with rows in client/inputs/hard_inputs.def.
std::vector<OpId> OperatorsWithHardInputs() {
  std::vector<OpId> ops;
  for (const OpId op : TranscendentalOperators()) {
    if (FindHardInputs(TraitsOf(op).name, DataType::kFloat32) != nullptr) ops.push_back(op);
  }
  return ops;
}

// Attribute `i` of the call, which is a FLOAT.
float FloatOf(const Invocation& call, size_t i) {
  return std::bit_cast<float>(static_cast<uint32_t>(call.attributes[i]));
}

class ElementaryTest : public ::testing::TestWithParam<OpId> {
 protected:
  const OpTraits& op() const { return TraitsOf(GetParam()); }

  // `attributes` replace the first ones.
  template <class T>
  void Check(DataType type, const std::vector<T>& x, const std::vector<T>& y, int setting,
             const std::vector<float>& attributes = {}) {
    const auto made =
        MakeCall({&op(), type, type}, setting, Packed(static_cast<uint32_t>(x.size())));
    ASSERT_NE(made, nullptr);
    Invocation call = *made;
    for (size_t a = 0; a < attributes.size(); ++a) {
      call.attributes[a] = std::bit_cast<uint32_t>(attributes[a]);
    }
    const std::vector<T> exact = Exact(call, x, y);
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(x.data()),
                                 reinterpret_cast<const std::byte*>(y.data())};
    const auto arity = static_cast<size_t>(op().input_count());
    std::vector<T> results(x.size());
    auto* const output = reinterpret_cast<std::byte*>(results.data());
    RunReference(call, {inputs, arity}, output);
    Compare(call, x, y, exact, results, "the reference");
    for (const int64_t target : RunnableTargets()) {
      const ScopedTarget scoped(target);
      cpu::BoundKernel(call).Run(inputs, output, x.size(), cpu::StoreMode::kCached);
      Compare(call, x, y, exact, results, TargetName(target));
    }
  }

 private:
  template <class T>
  static std::vector<T> Exact(const Invocation& call, const std::vector<T>& x,
                              const std::vector<T>& y) {
    std::vector<T> exact(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      Round(ExactResult(call.op,
                        {{ValueOf(x[i]), ValueOf(y[i])}, {FloatOf(call, 0), FloatOf(call, 1)}}),
            exact[i]);
    }
    return exact;
  }

  template <class T>
  static void Compare(const Invocation& call, const std::vector<T>& x, const std::vector<T>& y,
                      const std::vector<T>& exact, const std::vector<T>& results,
                      const std::string& by) {
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 5; ++i) {
      if (IsSame(exact[i], results[i])) continue;
      ++wrong;
      ADD_FAILURE() << by << ", attributes " << FloatOf(call, 0) << " and " << FloatOf(call, 1)
                    << ": " << std::hexfloat << ValueOf(x[i]) << " (and " << ValueOf(y[i])
                    << ") give " << ValueOf(results[i]) << ", not " << ValueOf(exact[i]);
    }
  }
};

TEST_P(ElementaryTest, Float32IsRoundedOnce) {
  std::mt19937_64 random(20261123);
  for (int setting = 0; setting < PlainSettingCount(op()); ++setting) {
    const size_t count = setting == 0 ? 4000 : 700;
    const auto x = Elements<float>(DataType::kFloat32, count, random);
    const auto y = Elements<float>(DataType::kFloat32, count, random);
    Check(DataType::kFloat32, x, y, setting);
  }
}

// All numbers, with the first attributes.
TEST_P(ElementaryTest, Float16IsRoundedOnce) {
  std::mt19937_64 random(20261124);
  std::vector<Float16> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) all.push_back({static_cast<uint16_t>(bits)});
  Check(DataType::kFloat16, all, Elements<Float16>(DataType::kFloat16, all.size(), random), 0);
  for (int setting = 1; setting < PlainSettingCount(op()); ++setting) {
    const auto x = Elements<Float16>(DataType::kFloat16, 700, random);
    Check(DataType::kFloat16, x, x, setting);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElementaryTest, ::testing::ValuesIn(TranscendentalOperators()),
                         [](const auto& instance) {
                           return std::string(TraitsOf(instance.param).name);
                         });

class HardInputsTest : public ElementaryTest {
 protected:
  template <class T>
  void CheckThoseOf(DataType type) {
    const HardInputs* const hard = FindHardInputs(op().name, type);
    ASSERT_NE(hard, nullptr);
    std::vector<float> attributes;
    for (const HardInputAttribute& attribute : hard->attributes) {
      attributes.push_back(attribute.value);
    }
    std::vector<T> x;
    for (const uint32_t bits : HardAndSpecialInputs(*hard)) Take(bits, x.emplace_back());
    Check(type, x, x, 0, attributes);
  }
};

TEST_P(HardInputsTest, Float32IsRoundedOnce) { CheckThoseOf<float>(DataType::kFloat32); }
TEST_P(HardInputsTest, Float16IsRoundedOnce) { CheckThoseOf<Float16>(DataType::kFloat16); }

INSTANTIATE_TEST_SUITE_P(All, HardInputsTest, ::testing::ValuesIn(OperatorsWithHardInputs()),
                         [](const auto& instance) {
                           return std::string(TraitsOf(instance.param).name);
                         });

class UnusualAttributesTest : public ElementaryTest {
 protected:
  // Factors so large or small that powers of e, or what they are multiplied with, nearly leave the
  // range of the lanes.
  static std::vector<std::vector<float>> AttributesOf(OpId op) {
    constexpr float kUnbounded = std::numeric_limits<float>::infinity();
    if (op == OpId::ACTIVATION_PARAMETRIC_SOFTPLUS) {
      return {{kUnbounded, 1},   {-kUnbounded, 1}, {kUnbounded, -3},
              {0x1p100f, 0.25f}, {0x1p20f, 2},     {0x1p-30f, 0x1p-20f}};
    }
    std::vector<std::vector<float>> attributes;
    for (int exponent = -60; exponent <= 60; exponent += 3) {
      attributes.push_back({std::ldexp(exponent % 2 == 0 ? 1.0f : -1.0f, exponent)});
    }
    return attributes;
  }
};

TEST_P(UnusualAttributesTest, ResultsAreRoundedOnce) {
  std::mt19937_64 random(20261128);
  std::uniform_real_distribution<double> power(-100, 0);
  for (const std::vector<float>& attributes : AttributesOf(GetParam())) {
    auto x = Elements<float>(DataType::kFloat32, 500, random);
    while (x.size() < 2000) Round(power(random) / attributes.back(), x.emplace_back());
    Check(DataType::kFloat32, x, x, 0, attributes);
    const auto halves = Elements<Float16>(DataType::kFloat16, 700, random);
    Check(DataType::kFloat16, halves, halves, 0, attributes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, UnusualAttributesTest,
                         ::testing::Values(OpId::ACTIVATION_PARAMETRIC_SOFTPLUS,
                                           OpId::ACTIVATION_SOFTPLUS, OpId::ACTIVATION_SWISH),
                         [](const auto& instance) {
                           return std::string(TraitsOf(instance.param).name);
                         });

class ConstantPowTest : public ElementaryTest {};

INSTANTIATE_TEST_SUITE_P(ConstantPow, ConstantPowTest,
                         ::testing::Values(OpId::ELEMENT_WISE_CONSTANT_POW));

// Exponents whose powers are rational numbers: exact ones, and middles between two elements.
constexpr float kExponents[] = {2,     0.5f, 1,     -1,    3,    1.5f,  0.25f, -0.5f,
                                -2.5f, 7,    0.75f, 1e10f, -150, 1e-3f, 65537};

// Powers of small numbers, and their neighbours.
std::vector<float> RationalBases(std::mt19937_64& random) {
  std::vector<float> bases = {0x3p-75f, -0x3p-50f, 0x1p-75f, 4097, -4097, 66049, 83521};
  std::uniform_int_distribution<int> exponent(-24, 20);
  while (bases.size() < 1500) {
    const auto root = static_cast<float>(random() % 64 + 1);
    bases.push_back(std::ldexp(root * root * root * root, 4 * (exponent(random) / 2)));
    bases.push_back(std::ldexp(static_cast<float>(random() % 8192), exponent(random)));
    bases.push_back(std::nextafter(bases.back(), 4.0f));
    bases.push_back(-std::ldexp(static_cast<float>(random() % 512), exponent(random)));
  }
  return bases;
}

TEST_P(ConstantPowTest, RationalPowersAreRoundedOnce) {
  std::mt19937_64 random(20261125);
  auto x = Elements<float>(DataType::kFloat32, 500, random);
  const auto bases = RationalBases(random);
  x.insert(x.end(), bases.begin(), bases.end());
  const auto halves = Elements<Float16>(DataType::kFloat16, 4000, random);
  for (const float exponent : kExponents) {
    Check(DataType::kFloat32, x, x, 0, {exponent});
    Check(DataType::kFloat16, halves, halves, 0, {exponent});
  }
}

// The fast evaluation leaves some elements open, and these are decided.
TEST(DecisionsTest, SomeElementsNeedThem) {
  const uint64_t before = cpu::slow::DecisionCount();
  // Half of an odd number of the smallest kind, and a little more.
  const std::vector<float> x = {0x1p-149f, -0x1p-149f, 0x3p-149f, -0x3p-149f};
  std::vector<float> results(x.size());
  const auto* input = reinterpret_cast<const std::byte*>(x.data());
  cpu::GetKernel(OpId::ACTIVATION_GELU, {DataType::kFloat32, DataType::kFloat32})(
      &input, reinterpret_cast<std::byte*>(results.data()), x.size(), cpu::StoreMode::kCached, {});
  EXPECT_EQ(results, (std::vector<float>{0x1p-149f, -0.0f, 0x1p-148f, -0x1p-149f}));
  EXPECT_TRUE(std::signbit(results[1]));
  EXPECT_EQ(cpu::slow::DecisionCount() - before, x.size());
}

// Values that a second rounding spoils.
TEST(DecisionsTest, SigmoidBelowAMiddle) {
  const float x = 0x3p-23f;
  float result = 0;
  const auto* input = reinterpret_cast<const std::byte*>(&x);
  cpu::GetKernel(OpId::ACTIVATION_SIGMOID, {DataType::kFloat32, DataType::kFloat32})(
      &input, reinterpret_cast<std::byte*>(&result), 1, cpu::StoreMode::kCached, {});
  EXPECT_EQ(result, 0.5f + 0x1p-24f);
}

}  // namespace
}  // namespace opserve::testing
