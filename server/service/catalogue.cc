#include "server/service/catalogue.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/feature_level.h"
#include "kernels/op_table.h"
#include "kernels/operator_hint.h"
#include "kernels/utf8.h"
#include "kernels/validate.h"
#include "kernels/validate_attributes.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

std::string Text(absl::string_view view) { return std::string(view); }

// As it is at `level`, or at the highest level.
void WriteTensor(const TensorTraits& tensor, std::optional<FeatureLevel> level,
                 v1::TensorInfo& out) {
  out.set_name(Text(tensor.name));
  out.set_optional(tensor.is_optional_at(level.value_or(kHighestFeatureLevel)));
  if (out.optional()) out.set_optional_since(NameOf(tensor.optional_since));
  out.set_one_element(tensor.is_single);
}

void WriteAttribute(const AttributeTraits& attribute, v1::AttributeInfo& out) {
  static constexpr const char* kKinds[] = {"enum",   "int",        "float", "data_type",
                                           "scalar", "activation", "axes"};
  out.set_name(Text(attribute.name));
  out.set_kind(kKinds[static_cast<size_t>(attribute.kind)]);
  out.set_optional(attribute.optional);
  for (const EnumValue& value : attribute.values) {
    v1::EnumValueInfo& info = *out.add_values();
    info.set_name(Text(value.name));
    info.set_number(value.number);
    info.set_meaning(Text(value.meaning));
  }
}

void WriteSupport(const OpTraits& op, const SupportRow& row, v1::SupportInfo& out) {
  out.set_feature_level(NameOf(row.level));
  for (int i = 0; i < op.tensor_count(); ++i) {
    v1::TensorSupport& tensor = *out.add_tensors();
    tensor.set_name(Text(op.tensor(i).name));
    tensor.set_min_dimension_count(row.min_dimension_count);
    tensor.set_max_dimension_count(row.max_dimension_count);
    for (DataType type : kAllDataTypes) {
      if (row.types[i].contains(type)) tensor.add_data_types(static_cast<v1::DataType>(type));
    }
  }
}

// Which tensors must agree.
void WriteGroups(const OpTraits& op, v1::OperatorInfo& out) {
  v1::TensorGroup& sizes = *out.add_same_sizes();
  for (int i = 0; i < op.tensor_count(); ++i) {
    if (!op.tensor(i).is_single) sizes.add_tensors(Text(op.tensor(i).name));
  }
  for (const TypeGroup& group : op.same_data_type) {
    v1::TensorGroup& types =
        group.integers_count_as_float32 ? *out.add_same_float_type() : *out.add_same_data_type();
    for (int i = 0; i < op.tensor_count(); ++i) {
      if ((group.tensors & op.MaskOf(i)) != 0) types.add_tensors(Text(op.tensor(i).name));
    }
  }
}

void WriteOperator(const OpTraits& op, std::optional<FeatureLevel> level, v1::OperatorInfo& out) {
  out.set_name(Text(op.name));
  out.set_family(Text(NameOf(op.family)));
  out.set_summary(Text(op.summary));
  out.set_formula(Text(op.formula));
  out.set_introduced(NameOf(op.introduced()));
  for (const TensorTraits& input : op.inputs) WriteTensor(input, level, *out.add_inputs());
  WriteTensor(op.output, level, *out.mutable_output());
  for (const AttributeTraits& attribute : AttributesFor(op)) {
    WriteAttribute(attribute, *out.add_attributes());
  }
  WriteGroups(op, out);
  for (absl::string_view input : op.in_place) out.add_in_place(Text(input));
  if (level) {
    WriteSupport(op, *op.SupportAt(*level), *out.add_support());
  } else {
    for (const SupportRow& row : op.support) WriteSupport(op, row, *out.add_support());
  }
}

std::vector<Violation> CheckFilters(const v1::ListOperatorsRequest& request, bool level_is_known) {
  std::vector<Violation> violations;
  if (!request.name().empty() && FindOperator(request.name()) == nullptr) {
    violations.push_back(
        {"name", absl::StrCat("There is no operator \"", TruncateUtf8(request.name(), 64), "\"",
                              OperatorHint(request.name()))});
  }
  if (!level_is_known) {
    violations.push_back(
        {"feature_level", absl::StrCat("There is no feature level \"",
                                       TruncateUtf8(request.feature_level(), 64), "\".")});
  }
  return violations;
}

}  // namespace

absl::Status ListOperators(const v1::ListOperatorsRequest& request,
                           v1::ListOperatorsResponse& response) {
  const std::optional<FeatureLevel> level = FeatureLevelFromName(request.feature_level());
  const auto violations = CheckFilters(request, level || request.feature_level().empty());
  if (!violations.empty()) {
    const bool not_found = violations.front().field == "name";
    return MakeViolationError(violations, not_found ? request.name() : "");
  }
  for (const OpTraits& op : OpTable()) {
    if (!request.name().empty() && request.name() != op.name) continue;
    if (level && op.introduced() > *level) continue;
    WriteOperator(op, level, *response.add_operators());
  }
  for (FeatureLevel known : kAllFeatureLevels) {
    v1::FeatureLevelInfo& info = *response.add_feature_levels();
    info.set_name(NameOf(known));
    info.set_value(static_cast<uint32_t>(known));
    info.set_max_dimension_count(MaxDimensionCount(known));
  }
  return absl::OkStatus();
}

}  // namespace opserve
