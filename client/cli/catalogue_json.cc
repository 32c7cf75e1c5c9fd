#include "client/cli/catalogue_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

Json NamesAsJson(const std::vector<DataType>& types) {
  Json names = Json::array();
  for (DataType type : types) names.push_back(std::string(NameOf(type)));
  return names;
}

Json AsJson(const TensorInfo& tensor) {
  Json json = {{"name", tensor.name}, {"optional", tensor.optional}};
  if (tensor.optional) json["optional_since"] = tensor.optional_since;
  json["one_element"] = tensor.one_element;
  return json;
}

Json AsJson(const AttributeInfo& attribute) {
  Json json = {{"name", attribute.name},
               {"kind", std::string(NameOf(attribute.value_kind))},
               {"optional", attribute.optional}};
  for (const EnumValueInfo& value : attribute.values) {
    json["values"].push_back(
        {{"name", value.name}, {"number", value.number}, {"meaning", value.meaning}});
  }
  return json;
}

Json AsJson(const SupportInfo& row) {
  Json tensors = Json::array();
  for (const TensorSupport& tensor : row.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"min_dimension_count", tensor.min_dimension_count},
                       {"max_dimension_count", tensor.max_dimension_count},
                       {"data_types", NamesAsJson(tensor.data_types)}});
  }
  return {{"feature_level", row.feature_level}, {"tensors", tensors}};
}

Json AsJson(const OperatorDevice& device) {
  return {{"device", device.device},
          {"tensor", device.tensor},
          {"data_types", NamesAsJson(device.data_types)}};
}

Json AsJson(const FeatureLevelInfo& level) {
  return {{"name", level.name},
          {"value", level.value},
          {"max_dimension_count", level.max_dimension_count}};
}

Json AsJson(const OperatorInfo& op);

// An array; not null where there is nothing.
template <class T>
Json ArrayAsJson(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(AsJson(item));
  return array;
}

Json AsJson(const OperatorInfo& op) {
  return {{"name", op.name},
          {"family", op.family},
          {"summary", op.summary},
          {"formula", op.formula},
          {"introduced", op.introduced},
          {"inputs", ArrayAsJson(op.inputs)},
          {"output", AsJson(op.output)},
          {"attributes", ArrayAsJson(op.attributes)},
          {"same_sizes", op.same_sizes},
          {"same_data_type", op.same_data_type},
          {"same_float_type", op.same_float_type},
          {"in_place", op.in_place},
          {"support", ArrayAsJson(op.support)},
          {"max_ulp", op.max_ulp},
          {"devices", ArrayAsJson(op.devices)}};
}

}  // namespace

nlohmann::ordered_json ToJson(const Catalogue& catalogue) {
  return {{"operators", ArrayAsJson(catalogue.operators)},
          {"feature_levels", ArrayAsJson(catalogue.feature_levels)}};
}

}  // namespace opserve::cli
