#include "kernels/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_TRUE(select.moves_bits);
  const OpTraits& is_infinity = TraitsOf(OpId::ELEMENT_WISE_IS_INFINITY);
  EXPECT_EQ(is_infinity.lane_input(), 0);
  EXPECT_TRUE(is_infinity.shape.is_condition(is_infinity.input_count()));
  EXPECT_FALSE(is_infinity.shape.moves_bits);
  EXPECT_EQ(OpShape{.operands = "cc"}.lane_input(), 2);
}

TEST(OpTableTest, TypesOfTensorsFollowTheLane) {
  const OpTraits& select = TraitsOf(OpId::ELEMENT_WISE_IF);
  const OpTraits& is_infinity = TraitsOf(OpId::ELEMENT_WISE_IS_INFINITY);
  const DataType lane = DataType::kFloat16;
  const auto types = [](const OpTraits& op, DataType of_lane) {
    std::vector<DataType> found;
    for (int t = 0; t < op.tensor_count(); ++t) found.push_back(op.TensorType(t, of_lane));
    return found;
  };
  EXPECT_THAT(types(select, lane), ElementsAre(DataType::kUint8, lane, lane, lane));
  EXPECT_THAT(types(is_infinity, lane), ElementsAre(lane, DataType::kUint8));
}

// What the shape says of a tensor is what DirectML supports.
TEST(OpTableTest, TypesOfTensorsAreSupported) {
  for (const OpTraits& op : OpTable()) {
    for (DataType lane : kAllDataTypes) {
      if (!op.lane_types().contains(lane)) continue;
      for (int t = 0; t < op.tensor_count(); ++t) {
        EXPECT_TRUE(op.support.back().types[t].contains(op.TensorType(t, lane)))
            << op.tensor(t).name << " of " << op.name << " in " << NameOf(lane);
      }
    }
  }
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
  EXPECT_THAT(NearestOperators("MODULUS"), ElementsAre("ELEMENT_WISE_MODULUS_TRUNCATE"));
}

TEST(OpTableTest, SuggestsNothingFarFetched) {
  EXPECT_THAT(NearestOperators(""), IsEmpty());
  EXPECT_THAT(NearestOperators("CONVOLUTION"), IsEmpty());
  EXPECT_THAT(NearestOperators(std::string(100'000, 'A')), IsEmpty());
}

}  // namespace
}  // namespace opserve
