// Holds every cell of the operator table and of the feature levels to DirectML's documentation, as
// restated in tests/data/directml/. Reads all operators the table has; a new row needs no change
// here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/feature_level.h"
#include "kernels/op_table.h"

namespace opserve {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

json ReadFacts(const std::string& name) {
  std::ifstream file(absl::StrCat(OPSERVE_TEST_DATA, "/directml/", name));
  EXPECT_TRUE(file.good()) << name;
  return json::parse(file);
}

// The text behind the part that an enum value shares with its type:
// DML_ROUNDING_MODE_TOWARD_ZERO of DML_ROUNDING_MODE is TOWARD_ZERO.
std::string ShortEnumName(const std::string& name, const std::string& type) {
  EXPECT_EQ(name.rfind(type + "_", 0), 0u) << name;
  return name.substr(type.size() + 1);
}

json FactsOf(absl::string_view name) {
  static const json& operators = *new json(ReadFacts("operators.json")["operators"]);
  for (const json& op : operators) {
    if (op["name"] == std::string(name)) return op;
  }
  return nullptr;
}

Names NamesOf(DataTypeSet types) {
  Names names;
  for (DataType type : kAllDataTypes) {
    if (types.contains(type)) names.emplace(NameOf(type));
  }
  return names;
}

class DirectMlTableTest : public testing::TestWithParam<OpTraits> {
 protected:
  const OpTraits& op() const { return GetParam(); }
  const json facts_ = FactsOf(GetParam().name);
};

TEST_P(DirectMlTableTest, IsDocumented) { ASSERT_FALSE(facts_.is_null()) << op().name; }

TEST_P(DirectMlTableTest, TensorsAgree) {
  ASSERT_EQ(op().inputs.size(), facts_["inputs"].size());
  for (size_t i = 0; i < op().inputs.size(); ++i) {
    EXPECT_EQ(std::string(op().inputs[i].name), facts_["inputs"][i]["name"]);
    EXPECT_EQ(op().inputs[i].optional, facts_["inputs"][i]["optional"]);
    EXPECT_EQ(NameOf(op().inputs[i].optional_since),
              facts_["inputs"][i].value("optional_since", std::string(NameOf(FeatureLevel::k1_0))));
  }
  ASSERT_EQ(facts_["outputs"].size(), 1u);
  EXPECT_EQ(std::string(op().output.name), facts_["outputs"][0]);
}

TEST_P(DirectMlTableTest, AttributesAgree) {
  json facts = facts_["attributes"];
  const auto scale_bias = std::find_if(
      facts.begin(), facts.end(), [](const json& fact) { return fact["name"] == "ScaleBias"; });
  EXPECT_EQ(op().takes_scale_bias, scale_bias != facts.end());
  if (scale_bias != facts.end()) {
    EXPECT_TRUE((*scale_bias)["optional"]);
    facts.erase(scale_bias);
  }
  const auto fused = std::find_if(facts.begin(), facts.end(), [](const json& fact) {
    return fact["name"] == "FusedActivation";
  });
  EXPECT_EQ(op().takes_fused_activation, fused != facts.end());
  if (fused != facts.end()) {
    Names fusable;
    for (const OpTraits& other : OpTable()) {
      if (other.is_fusable) fusable.emplace(other.name);
    }
    EXPECT_EQ((*fused)["allowed_operators"].get<Names>(), fusable);
    EXPECT_TRUE((*fused)["optional"]);
    facts.erase(fused);
  }
  // What says how long a list is: on the wire, the list itself.
  facts.erase(std::remove_if(facts.begin(), facts.end(),
                             [](const json& fact) { return fact["name"] == "AxisCount"; }),
              facts.end());
  ASSERT_EQ(op().attributes.size(), facts.size());
  for (size_t a = 0; a < op().attributes.size(); ++a) {
    const AttributeTraits& attribute = op().attributes[a];
    const json& fact = facts[a];
    EXPECT_EQ(std::string(attribute.name), fact["name"]);
    EXPECT_EQ(attribute.optional, fact["optional"]);
    ASSERT_EQ(attribute.kind == AttributeKind::kEnum, fact.contains("enum"));
    EXPECT_EQ(attribute.kind == AttributeKind::kFloat, fact["type"] == "FLOAT");
    EXPECT_EQ(attribute.kind == AttributeKind::kScalar, fact["type"] == "DML_SCALAR_UNION");
    EXPECT_EQ(attribute.kind == AttributeKind::kDataType, fact["type"] == "DML_TENSOR_DATA_TYPE");
    EXPECT_EQ(attribute.kind == AttributeKind::kAxes, fact["type"] == "UINT[AxisCount]");
    if (attribute.kind != AttributeKind::kEnum) continue;
    ASSERT_EQ(attribute.values.size(), fact["enum"].size());
    for (size_t v = 0; v < attribute.values.size(); ++v) {
      EXPECT_EQ(std::string(attribute.values[v].name),
                ShortEnumName(fact["enum"][v]["name"], fact["type"]));
      EXPECT_EQ(attribute.values[v].number, fact["enum"][v]["value"]);
    }
  }
}

// The table has no trait for equal sizes: its operators are those where all tensors have them but
// those of one element.
TEST_P(DirectMlTableTest, AllTensorsHaveEqualSizesOrOneElement) {
  Names all;
  Names singles;
  for (int t = 0; t < op().tensor_count(); ++t) {
    all.emplace(op().tensor(t).name);
    if (op().tensor(t).is_single) singles.emplace(op().tensor(t).name);
  }
  EXPECT_EQ(facts_.value("one_element", Names()), singles);
  // Where some have one element, the page only tells that dimension counts are equal.
  const json& equal = facts_[singles.empty() ? "same_sizes" : "same_dimension_count"];
  ASSERT_EQ(equal.size(), 1u);
  EXPECT_EQ(equal[0].get<Names>(), all);
}

TEST_P(DirectMlTableTest, SameDataTypeAgrees) {
  std::set<Names> groups;
  std::set<Names> groups_with_integers;
  for (const TypeGroup& group : op().same_data_type) {
    Names names;
    for (int t = 0; t < op().tensor_count(); ++t) {
      if ((group.tensors & op().MaskOf(t)) != 0) names.emplace(op().tensor(t).name);
    }
    (group.integers_count_as_float32 ? groups_with_integers : groups).insert(names);
  }
  EXPECT_EQ(facts_["same_data_type"].get<std::set<Names>>(), groups);
  EXPECT_EQ(facts_.value("same_data_type_but_integers_as_float32", std::set<Names>()),
            groups_with_integers);
}

TEST_P(DirectMlTableTest, InPlaceAgrees) {
  Names in_place;
  for (absl::string_view name : op().in_place) in_place.emplace(name);
  EXPECT_EQ(in_place, facts_["in_place"].get<Names>());
}

TEST_P(DirectMlTableTest, EverySupportCellAgrees) {
  EXPECT_EQ(NameOf(op().introduced()), facts_["introduced"]);
  ASSERT_EQ(op().support.size(), facts_["support"].size());
  for (size_t r = 0; r < op().support.size(); ++r) {
    const SupportRow& row = op().support[r];
    const json& fact = facts_["support"][r];
    SCOPED_TRACE(absl::StrCat(op().name, " at ", NameOf(row.level)));
    EXPECT_EQ(NameOf(row.level), fact["feature_level"]);
    ASSERT_EQ(fact["tensors"].size(), static_cast<size_t>(op().tensor_count()));
    for (int t = 0; t < op().tensor_count(); ++t) {
      const json& cell = fact["tensors"][std::string(op().tensor(t).name)];
      SCOPED_TRACE(std::string(op().tensor(t).name));
      EXPECT_EQ(row.min_dimension_count, cell["dimension_counts"][0]);
      EXPECT_EQ(row.max_dimension_count, cell["dimension_counts"][1]);
      EXPECT_EQ(NamesOf(row.types[t]), cell["data_types"].get<Names>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOperators, DirectMlTableTest,
                         testing::ValuesIn(OpTable().begin(), OpTable().end()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(FeatureLevelFactsTest, LevelsAgree) {
  const json facts = ReadFacts("feature_levels.json")["feature_levels"];
  ASSERT_EQ(facts.size(), kAllFeatureLevels.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(NameOf(kAllFeatureLevels[i]), facts[i]["level"]);
    EXPECT_EQ(static_cast<uint16_t>(kAllFeatureLevels[i]),
              std::stoi(facts[i]["value"].get<std::string>(), nullptr, 16));
  }
}

TEST(FeatureLevelFactsTest, TheFourSeedOperatorsAreThere) {
  for (const char* name : {"ELEMENT_WISE_IF", "ELEMENT_WISE_IS_INFINITY",
                           "ELEMENT_WISE_MODULUS_TRUNCATE", "ELEMENT_WISE_ROUND"}) {
    EXPECT_NE(FindOperator(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace opserve
