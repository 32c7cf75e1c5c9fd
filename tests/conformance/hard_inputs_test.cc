// The hardest inputs that are kept: which operators have them, and that they are hard.

#include "client/inputs/hard_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <set>
#include <vector>

#include "client/inputs/special_floats.h"
#include "kernels/op_table.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/exact_values.h"

namespace opserve::testing {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16};

// The inputs of an operator that must have some.
const HardInputs& Kept(absl::string_view name, DataType type) {
  const HardInputs* const found = FindHardInputs(name, type);
  if (found == nullptr) ADD_FAILURE() << name << " has no hard inputs of " << NameOf(type);
  static const HardInputs kNone{};
  return found == nullptr ? kNone : *found;
}

float ValueOf(DataType type, uint32_t bits) {
  if (type == DataType::kFloat32) return std::bit_cast<float>(bits);
  return reference::ToFloat({static_cast<uint16_t>(bits)});
}

uint32_t Float32Bits(float value) { return std::bit_cast<uint32_t>(value); }

std::optional<double> DistanceOf(const HardInputs& inputs, uint32_t bits) {
  ExactArguments arguments{{ValueOf(inputs.type, bits), 0}, {}};
  for (size_t a = 0; a < inputs.attributes.size(); ++a) {
    arguments.attributes[a] = inputs.attributes[a].value;
  }
  return DistanceToMiddle(FindOperator(inputs.operator_name)->id, arguments, inputs.type);
}

TEST(HardInputsDataTest, EveryFunctionOfOneInputWithoutAttributesHasSome) {
  int count = 0;
  for (const OpId op : TranscendentalOperators()) {
    const OpTraits& traits = TraitsOf(op);
    if (traits.input_count() != 1 || !traits.attributes.empty()) continue;
    ++count;
    // Where few exponents have hard results, there are fewer.
    EXPECT_GE(Kept(traits.name, DataType::kFloat32).hardest.size(), 24u) << traits.name;
    EXPECT_GE(Kept(traits.name, DataType::kFloat16).hardest.size(), 10u) << traits.name;
  }
  EXPECT_EQ(count, 18);
}

TEST(HardInputsDataTest, AttributesAreThoseOfTheOperator) {
  for (const HardInputs& inputs : AllHardInputs()) {
    const OpTraits* const op = FindOperator(inputs.operator_name);
    ASSERT_NE(op, nullptr) << inputs.operator_name;
    ASSERT_EQ(inputs.attributes.size(), op->attributes.size()) << op->name;
    for (size_t a = 0; a < inputs.attributes.size(); ++a) {
      EXPECT_EQ(inputs.attributes[a].name, op->attributes[a].name);
    }
  }
}

TEST(HardInputsDataTest, AllAreNearAMiddleTheNearestFirst) {
  for (const HardInputs& inputs : AllHardInputs()) {
    const double most = inputs.type == DataType::kFloat32 ? 0x1p-12 : 0x1p-6;
    double last = 0;
    for (const uint32_t bits : inputs.hardest) {
      const std::optional<double> distance = DistanceOf(inputs, bits);
      ASSERT_TRUE(distance.has_value()) << inputs.operator_name << " " << bits;
      EXPECT_LT(*distance, most) << inputs.operator_name << " " << bits;
      EXPECT_GE(*distance, last) << inputs.operator_name << " " << bits;
      last = *distance;
    }
  }
}

TEST(HardInputsDataTest, TrapsThatNoSampleFindsAreAmongThem) {
  constexpr auto kType = DataType::kFloat32;
  EXPECT_THAT(Kept("ACTIVATION_SIGMOID", kType).hardest, Contains(Float32Bits(0x3p-23f)));
  for (const char* name : {"ACTIVATION_GELU", "ACTIVATION_SWISH"}) {
    EXPECT_THAT(WithBothSigns(Kept(name, kType)),
                IsSupersetOf({0x1u, 0x80000001u, 0x3u, 0x80000003u}));
  }
  // Where results become infinite and zero.
  EXPECT_THAT(Kept("ELEMENT_WISE_EXP", kType).edges,
              IsSupersetOf({0x42b17217u, 0x42b17218u, 0xc2cff1b4u, 0xc2cff1b5u}));
}

TEST(HardInputsDataTest, TestsGetBothSignsAndSpecialValuesOnce) {
  for (const DataType type : kTypes) {
    const HardInputs& inputs = Kept("ELEMENT_WISE_SIN", type);
    const std::vector<uint32_t> all = HardAndSpecialInputs(inputs);
    EXPECT_EQ(std::set<uint32_t>(all.begin(), all.end()).size(), all.size());
    const uint32_t sign = 1u << (8 * SizeOf(type) - 1);
    for (const uint32_t bits : inputs.hardest) {
      EXPECT_THAT(all, Contains(bits));
      EXPECT_THAT(all, Contains(bits ^ sign));
    }
    for (const uint64_t bits : SpecialFloats(type)) {
      EXPECT_LE(bits, (uint64_t{1} << (8 * SizeOf(type))) - 1);
      EXPECT_THAT(all, Contains(static_cast<uint32_t>(bits)));
    }
  }
}

TEST(HardInputsDataTest, DistancesAreRight) {
  const auto of = [](float x, DataType type) {
    return *DistanceToMiddle(OpId::ELEMENT_WISE_EXP, {{x, 0}, {}}, type);
  };
  // e^x is 1 + 2^-24 + 2^-49 and little more, 2^-49 beyond a middle of numbers that are 2^-23
  // apart.
  EXPECT_NEAR(of(0x1p-24f, DataType::kFloat32), 0x1p-26, 0x1p-49);
  EXPECT_NEAR(of(0x1p-11f, DataType::kFloat16), 0x1p-13, 0x1p-23);
  // Of 1 + 2^-26 the middle is 3/8 away.
  EXPECT_NEAR(of(0x1p-26f, DataType::kFloat32), 0.375, 0x1p-20);
  // 2^-150 is the middle between zero and the least number.
  EXPECT_LT(of(-103.972077f, DataType::kFloat32), 1e-5);
  EXPECT_FALSE(DistanceToMiddle(OpId::ELEMENT_WISE_EXP, {{0, 0}, {}}, DataType::kFloat32));
  EXPECT_FALSE(DistanceToMiddle(OpId::ELEMENT_WISE_EXP, {{200, 0}, {}}, DataType::kFloat32));
}

}  // namespace
}  // namespace opserve::testing
