#include "kernels/attribute_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve {
namespace {

std::string Describe(const std::vector<AttributeView>& setting) {
  std::string text;
  for (const AttributeView& view : setting) {
    absl::StrAppend(&text, view.name, "=");
    // By bits: some differ in the last one, or in the sign of a zero.
    if (const auto* number = std::get_if<double>(&view.value)) {
      absl::StrAppend(&text, absl::Hex(std::bit_cast<uint64_t>(*number)));
    }
    if (const auto* number = std::get_if<int64_t>(&view.value)) absl::StrAppend(&text, *number);
    if (const auto* name = std::get_if<absl::string_view>(&view.value)) {
      absl::StrAppend(&text, *name);
    }
    if (const auto* list = std::get_if<std::span<const int64_t>>(&view.value)) {
      absl::StrAppend(&text, absl::StrJoin(*list, ","));
    }
    absl::StrAppend(&text, " ");
  }
  return text;
}

std::set<std::string> SettingsOf(const OpTraits& op, DataType lane) {
  std::set<std::string> settings;
  for (int s = 0; s < SettingCount(op, lane); ++s) {
    settings.insert(Describe(AttributesOfSetting(op, lane, s)));
  }
  return settings;
}

TEST(AttributeSettingsTest, SettingsAreDifferent) {
  for (const OpTraits& op : OpTable()) {
    EXPECT_EQ(SettingsOf(op, DataType::kFloat32).size(),
              static_cast<size_t>(SettingCount(op, DataType::kFloat32)))
        << op.name;
  }
}

TEST(AttributeSettingsTest, ModesComeFirst) {
  const OpTraits& round = TraitsOf(OpId::ELEMENT_WISE_ROUND);
  EXPECT_EQ(SettingCount(round, DataType::kFloat16), 3);
  for (int mode = 0; mode < 3; ++mode) {
    EXPECT_EQ(Describe(AttributesOfSetting(round, DataType::kFloat16, mode)),
              absl::StrCat("RoundingMode=", mode, " "));
  }
}

TEST(AttributeSettingsTest, ElementsOf64BitsAreNotScaled) {
  const OpTraits& identity = TraitsOf(OpId::ELEMENT_WISE_IDENTITY);
  EXPECT_EQ(SettingCount(identity, DataType::kInt64), 1);
  EXPECT_GT(SettingCount(identity, DataType::kInt32), 5);
}

TEST(AttributeSettingsTest, OperatorsWithoutAttributesHaveOneSetting) {
  const OpTraits& select = TraitsOf(OpId::ELEMENT_WISE_IF);
  EXPECT_EQ(SettingCount(select, DataType::kFloat32), 1);
  EXPECT_TRUE(AttributesOfSetting(select, DataType::kFloat32, 0).empty());
}

}  // namespace
}  // namespace opserve
