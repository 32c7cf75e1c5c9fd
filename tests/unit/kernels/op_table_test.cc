#include "kernels/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OpTableTest, FindsEveryOperatorByItsName) {
  for (const OpTraits& op : OpTable()) {
    EXPECT_EQ(FindOperator(op.name), &op);
    EXPECT_EQ(&TraitsOf(op.id), &op);
  }
  for (const char* name : {"", "A", "ELEMENT_WISE_ROUN", "ELEMENT_WISE_ROUNDS", "zzz"}) {
    EXPECT_EQ(FindOperator(name), nullptr) << name;
  }
}

TEST(OpTableTest, SupportIsTheLastRowNotAboveTheLevel) {
  const OpTraits& op = TraitsOf(OpId::ELEMENT_WISE_IF);
  EXPECT_EQ(op.SupportAt(FeatureLevel::k1_0), nullptr);
  EXPECT_EQ(op.SupportAt(FeatureLevel::k2_0)->level, FeatureLevel::k2_0);
  EXPECT_EQ(op.SupportAt(FeatureLevel::k2_1)->level, FeatureLevel::k2_0);
  EXPECT_EQ(op.SupportAt(FeatureLevel::k4_1)->level, FeatureLevel::k3_0);
  EXPECT_EQ(op.SupportAt(FeatureLevel::k6_4)->level, FeatureLevel::k5_0);
}

TEST(OpTableTest, ShapesTellConditionsFromTheLane) {
  const OpShape& select = TraitsOf(OpId::ELEMENT_WISE_IF).shape;
  EXPECT_EQ(select.input_count(), 3);
  EXPECT_EQ(select.lane_input(), 1);
  EXPECT_TRUE(select.is_bitwise);
  const OpTraits& is_infinity = TraitsOf(OpId::ELEMENT_WISE_IS_INFINITY);
  EXPECT_EQ(is_infinity.lane_tensor(), 0);
  EXPECT_EQ(is_infinity.shape.result, OpResult::kFlag);
  EXPECT_FALSE(is_infinity.shape.is_bitwise);
  EXPECT_EQ(OpShape{.operands = "cc"}.lane_input(), 2);
}

TEST(OpTableTest, TypesOfTensorsFollowTheLane) {
  const OpTraits& select = TraitsOf(OpId::ELEMENT_WISE_IF);
  const DataType lane = DataType::kFloat16;
  EXPECT_EQ(select.InputType(0, lane), DataType::kUint8);
  EXPECT_EQ(select.InputType(1, lane), lane);
  EXPECT_EQ(select.OutputTypes(lane), DataTypeSet({lane}));
}

TEST(OpTableTest, NumbersHaveTypesOfTheirOwnUnlessTheyShareTheLane) {
  const OpTraits& quantize = TraitsOf(OpId::ELEMENT_WISE_QUANTIZE_LINEAR);
  EXPECT_EQ(quantize.lane_tensor(), 3);
  EXPECT_EQ(quantize.lane_types(), DataTypeSet({DataType::kInt8, DataType::kUint8}));
  EXPECT_EQ(quantize.InputType(0, DataType::kInt8), DataType::kFloat32);
  EXPECT_EQ(quantize.InputType(1, DataType::kInt8), DataType::kFloat32);
  EXPECT_EQ(quantize.InputType(2, DataType::kInt8), DataType::kInt8);
  const OpTraits& dequantize = TraitsOf(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR);
  EXPECT_EQ(dequantize.InputType(0, DataType::kFloat16), DataType::kUint8);
  EXPECT_EQ(dequantize.InputType(1, DataType::kFloat16), DataType::kFloat16);
  EXPECT_EQ(dequantize.InputType(2, DataType::kFloat16), DataType::kUint8);
  // Exponents must have it at the first level.
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_POW).InputType(1, DataType::kInt8), DataType::kInt8);
}

TEST(OpTableTest, FlagsAndCountsHaveTypesOfTheirOwn) {
  const DataTypeSet both = {DataType::kUint32, DataType::kUint8};
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_IS_INFINITY).OutputTypes(DataType::kFloat16),
            DataTypeSet({DataType::kUint8}));
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_LOGICAL_EQUALS).OutputTypes(DataType::kInt64), both);
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_BIT_COUNT).OutputTypes(DataType::kUint64), both);
}

// What the shape says of a tensor is what DirectML supports.
TEST(OpTableTest, TypesOfTensorsAreSupported) {
  for (const OpTraits& op : OpTable()) {
    for (DataType lane : kAllDataTypes) {
      if (!op.lane_types().contains(lane)) continue;
      for (int i = 0; i < op.input_count(); ++i) {
        EXPECT_TRUE(op.support.back().types[i].contains(op.InputType(i, lane)))
            << op.inputs[i].name << " of " << op.name << " in " << NameOf(lane);
      }
      EXPECT_FALSE(op.OutputTypes(lane).empty()) << op.name << " in " << NameOf(lane);
    }
  }
}

TEST(OpTableTest, FamiliesFollowEachOther) {
  const std::span<const OpTraits> ops = OpTable();
  EXPECT_EQ(ops.front().family, OpFamily::kMoves);
  EXPECT_EQ(ops.back().family, OpFamily::kSoftmax);
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end(), [](const OpTraits& a, const OpTraits& b) {
    return a.family < b.family;
  }));
}

TEST(OpTableTest, ModesAreTheValuesOfALeadingEnum) {
  EXPECT_FALSE(TraitsOf(OpId::ELEMENT_WISE_IF).has_mode());
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_IF).mode_count(), 1);
  EXPECT_TRUE(TraitsOf(OpId::ELEMENT_WISE_ROUND).has_mode());
  EXPECT_EQ(TraitsOf(OpId::ELEMENT_WISE_ROUND).mode_count(), 3);
}

TEST(OpTableTest, SuggestsNearNames) {
  EXPECT_THAT(NearestOperators("ELEMENT_WISE_RUOND"), ElementsAre("ELEMENT_WISE_ROUND"));
  EXPECT_THAT(NearestOperators("round"), ElementsAre("ELEMENT_WISE_ROUND"));
  EXPECT_THAT(NearestOperators("IS_INF"), ElementsAre("ELEMENT_WISE_IS_INFINITY"));
  EXPECT_THAT(NearestOperators("MODULUS"),
              ElementsAre("ELEMENT_WISE_MODULUS_FLOOR", "ELEMENT_WISE_MODULUS_TRUNCATE"));
}

TEST(OpTableTest, SuggestsNothingFarFetched) {
  EXPECT_THAT(NearestOperators(""), IsEmpty());
  EXPECT_THAT(NearestOperators("CONVOLUTION"), IsEmpty());
  EXPECT_THAT(NearestOperators(std::string(100'000, 'A')), IsEmpty());
}

}  // namespace
}  // namespace opserve
