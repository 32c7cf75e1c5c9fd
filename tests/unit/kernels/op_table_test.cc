#include "kernels/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
