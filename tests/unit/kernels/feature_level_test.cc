#include "kernels/feature_level.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/data_type.h"

namespace opserve {
namespace {

TEST(FeatureLevelTest, NamesRoundTrip) {
  for (FeatureLevel level : kAllFeatureLevels) {
    EXPECT_EQ(FeatureLevelFromName(NameOf(level)), level) << NameOf(level);
  }
}

TEST(FeatureLevelTest, AcceptsTheUsualSpellings) {
  EXPECT_EQ(FeatureLevelFromName("6_4"), FeatureLevel::k6_4);
  EXPECT_EQ(FeatureLevelFromName("6.4"), FeatureLevel::k6_4);
  EXPECT_EQ(FeatureLevelFromName("DML_FEATURE_LEVEL_6_4"), FeatureLevel::k6_4);
}

TEST(FeatureLevelTest, RefusesEverythingElse) {
  for (const char* name : {"", "6", "6_5", "7_0", "0_0", "6_4 ", "-1_0", "06_4", "1_1"}) {
    EXPECT_EQ(FeatureLevelFromName(name), std::nullopt) << name;
  }
}

TEST(FeatureLevelTest, LevelsAscend) {
  EXPECT_TRUE(std::is_sorted(kAllFeatureLevels.begin(), kAllFeatureLevels.end()));
  EXPECT_EQ(NameOf(kHighestFeatureLevel), "6_4");
  EXPECT_EQ(MaxDimensionCount(FeatureLevel::k2_1), 5);
  EXPECT_EQ(MaxDimensionCount(FeatureLevel::k3_0), 8);
}

TEST(DataTypeTest, NamesAndNumbersRoundTrip) {
  for (DataType type : kAllDataTypes) {
    EXPECT_EQ(DataTypeFromName(NameOf(type)), type);
    EXPECT_EQ(DataTypeFromNumber(static_cast<int>(type)), type);
  }
  EXPECT_EQ(DataTypeFromName("float16"), DataType::kFloat16);
  for (int number : {0, -1, 12, 13, 255, 256, 1 << 30}) {
    EXPECT_EQ(DataTypeFromNumber(number), std::nullopt) << number;
  }
  for (const char* name : {"", "UNKNOWN", "FLOAT", "BOOL"}) {
    EXPECT_EQ(DataTypeFromName(name), std::nullopt) << name;
  }
}

TEST(DataTypeTest, SizesAreThoseOfTheNames) {
  for (DataType type : kAllDataTypes) {
    const std::string name(NameOf(type));
    const size_t bits = std::stoul(name.substr(name.find_first_of("1368")));
    EXPECT_EQ(SizeOf(type) * 8, bits) << name;
  }
  EXPECT_EQ(SizeOf(DataType::kUnknown), 0u);
}

TEST(DataTypeSetTest, ListsItsMembers) {
  const DataTypeSet set = {DataType::kUint8, DataType::kFloat32};
  EXPECT_EQ(set.ToString(), "FLOAT32, UINT8");
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.first(), DataType::kFloat32);
  EXPECT_FALSE(set.contains(DataType::kInt8));
  EXPECT_TRUE(DataTypeSet().empty());
  EXPECT_EQ(DataTypeSet().first(), DataType::kUnknown);
}

}  // namespace
}  // namespace opserve
