#include "kernels/validate_attributes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/scalar.h"

namespace opserve {
namespace {

std::string FusableNames() {
  std::vector<absl::string_view> names;
  for (const OpTraits& op : OpTable()) {
    if (op.is_fusable) names.push_back(op.name);
  }
  return absl::StrJoin(names, ", ");
}

std::string AllowedValues(const AttributeTraits& attribute) {
  switch (attribute.kind) {
    case AttributeKind::kEnum:
      return absl::StrJoin(attribute.values, ", ", [](std::string* out, const EnumValue& value) {
        absl::StrAppend(out, value.name, " (", value.number, ")");
      });
    case AttributeKind::kInt:
      return "an integer of 32 bits";
    case AttributeKind::kFloat:
      return "a number";
    case AttributeKind::kDataType:
      return "a data type, by name";
    case AttributeKind::kScalar:
      return "a value of the tensors' data type";
    case AttributeKind::kActivation:
      return FusableNames();
    case AttributeKind::kAxes:
      return absl::StrCat("a list, which may be empty, of dimensions from 0 to ",
                          kMaxDimensionCount - 1);
  }
  return "";
}

// The shortest decimal text that only this number has.
template <class Float>
std::string ShortestText(Float number) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), number).ptr};
}

// The same, told from an integer, which an attribute may take where it takes no such number.
std::string FloatText(double number) {
  std::string text = ShortestText(number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string ValueText(const AttributeView& given) {
  if (const auto* name = std::get_if<absl::string_view>(&given.value)) return Quoted(*name);
  if (const auto* number = std::get_if<int64_t>(&given.value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<uint64_t>(&given.value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&given.value)) return FloatText(*number);
  if (const auto* list = std::get_if<std::span<const int64_t>>(&given.value)) {
    if (list->size() > kMaxListedItems) return absl::StrCat("(", list->size(), " integers)");
    return absl::StrCat("[", absl::StrJoin(*list, ", "), "]");
  }
  return "(none)";
}

std::optional<uint32_t> EnumValueOf(const AttributeView& given, const AttributeTraits& traits) {
  const auto* name = std::get_if<absl::string_view>(&given.value);
  const auto* number = std::get_if<int64_t>(&given.value);
  for (const EnumValue& value : traits.values) {
    if ((name != nullptr && *name == value.name) ||
        (number != nullptr && *number == value.number)) {
      return static_cast<uint32_t>(value.number);
    }
  }
  return std::nullopt;
}

// The dimensions as a set of bits. An integer stands for a list of one.
std::optional<uint32_t> AxesOf(const AttributeView& given) {
  const auto* one = std::get_if<int64_t>(&given.value);
  const auto* list = std::get_if<std::span<const int64_t>>(&given.value);
  if (one == nullptr && (list == nullptr || list->size() > kMaxListedItems)) return std::nullopt;
  uint32_t axes = 0;
  for (int64_t axis : one != nullptr ? std::span(one, 1) : *list) {
    if (axis < 0 || axis >= kMaxDimensionCount) return std::nullopt;
    axes |= uint32_t{1} << axis;
  }
  return axes;
}

// A number as AttributeValues holds it: a FLOAT is the nearest one.
uint32_t EncodedNumber(double number, const AttributeTraits& traits) {
  if (traits.kind == AttributeKind::kFloat)
    return std::bit_cast<uint32_t>(static_cast<float>(number));
  return static_cast<uint32_t>(static_cast<int32_t>(number));
}

std::optional<DataType> DataTypeOf(const AttributeView& given) {
  const auto* name = std::get_if<absl::string_view>(&given.value);
  if (name != nullptr) return DataTypeFromName(*name);
  const auto* number = std::get_if<int64_t>(&given.value);
  if (number == nullptr || *number != static_cast<int>(*number)) return std::nullopt;
  return DataTypeFromNumber(static_cast<int>(*number));
}

// The OpId of an operator that may be fused.
std::optional<uint64_t> FusableOperator(const AttributeView& given) {
  const auto* name = std::get_if<absl::string_view>(&given.value);
  const OpTraits* const op = name != nullptr ? FindOperator(*name) : nullptr;
  if (op == nullptr || !op->is_fusable) return std::nullopt;
  return static_cast<uint64_t>(op->id);
}

// The bits of a scalar of `type`.
struct AsScalar {
  DataType type;
  template <class Number>
  std::optional<uint64_t> operator()(Number number) const {
    const std::optional<Scalar> scalar = ScalarOf(number, type);
    return scalar ? std::optional(scalar->bits) : std::nullopt;
  }
  std::optional<uint64_t> operator()(absl::string_view) const { return std::nullopt; }
  std::optional<uint64_t> operator()(std::span<const int64_t>) const { return std::nullopt; }
  std::optional<uint64_t> operator()(std::monostate) const { return std::nullopt; }
};

// The value, or nullopt where it is not one that the attribute can have. Scalars are of
// `scalar_type`.
std::optional<uint64_t> ValueOf(const AttributeView& given, const AttributeTraits& traits,
                                DataType scalar_type) {
  if (traits.kind == AttributeKind::kEnum) return EnumValueOf(given, traits);
  if (traits.kind == AttributeKind::kScalar) return std::visit(AsScalar{scalar_type}, given.value);
  if (traits.kind == AttributeKind::kActivation) return FusableOperator(given);
  if (traits.kind == AttributeKind::kDataType) {
    const std::optional<DataType> type = DataTypeOf(given);
    return type ? std::optional<uint64_t>(static_cast<uint64_t>(*type)) : std::nullopt;
  }
  if (traits.kind == AttributeKind::kAxes) return AxesOf(given);
  if (const auto* integer = std::get_if<int64_t>(&given.value)) {
    if (traits.kind == AttributeKind::kInt && *integer != static_cast<int32_t>(*integer)) {
      return std::nullopt;
    }
    // By way of FLOAT64 a FLOAT would be rounded twice.
    const bool is_float = traits.kind == AttributeKind::kFloat;
    return EncodedNumber(is_float ? static_cast<float>(*integer) : static_cast<double>(*integer),
                         traits);
  }
  if (traits.kind != AttributeKind::kFloat) return std::nullopt;
  if (const auto* large = std::get_if<uint64_t>(&given.value)) {
    return EncodedNumber(static_cast<float>(*large), traits);
  }
  const auto* number = std::get_if<double>(&given.value);
  return number == nullptr ? std::nullopt : std::optional<uint64_t>(EncodedNumber(*number, traits));
}

// Whether an encoded FLOAT is not below its minimum. A NaN is.
bool IsAtLeast(uint64_t value, const AttributeTraits& traits) {
  return double{std::bit_cast<float>(static_cast<uint32_t>(value))} >= traits.minimum;
}

// One check: the values as far as they are given.
class AttributeCheck {
 public:
  AttributeCheck(const OpTraits& op, FeatureLevel level, std::span<const AttributeView> given,
                 ViolationList& violations)
      : op_(op),
        level_(level),
        known_(AttributesFor(op)),
        scalar_type_(ScalarType(op, given)),
        violations_(violations) {}

  void Take(const AttributeView& given, const std::string& field) {
    const auto traits =
        std::find_if(known_.begin(), known_.end(),
                     [&](const AttributeTraits& known) { return known.name == given.name; });
    if (traits == known_.end()) {
      violations_.Add(absl::StrCat(field, ".name"), op_.name, " has no attribute ",
                      Quoted(given.name), "; it has ", Names(), ".");
      return;
    }
    const auto index = static_cast<size_t>(traits - known_.begin());
    if (seen_[index]) {
      violations_.Add(absl::StrCat(field, ".name"), "The attribute ", traits->name,
                      " is given more than once.");
      return;
    }
    seen_[index] = true;
    const std::optional<uint64_t> value = ValueOf(given, *traits, scalar_type_);
    values_[index] = value.value_or(0);
    is_valid_[index] = value.has_value();
    if (!value) {
      violations_.Add(absl::StrCat(field, ".value"), "The value ", ValueText(given), " of ",
                      traits->name, " is not allowed; allowed: ", AllowedValues(*traits), ".");
    } else {
      CheckMinimum(*value, *traits, traits->name, absl::StrCat(field, ".value"));
    }
  }

  GivenAttributes Finish() {
    GivenAttributes given;
    TakeOwn(given);
    if (op_.takes_scale_bias) TakeScaleBias(given);
    if (op_.takes_fused_activation) TakeFusedActivation(given);
    return given;
  }

 private:
  void CheckMinimum(uint64_t value, const AttributeTraits& traits, absl::string_view name,
                    const std::string& field) {
    if (level_ >= traits.minimum_until || IsAtLeast(value, traits)) return;
    violations_.Add(field, "The value ",
                    ShortestText(std::bit_cast<float>(static_cast<uint32_t>(value))), " of ", name,
                    " is not allowed below feature level ", NameOf(traits.minimum_until),
                    "; allowed: at least ", traits.minimum, ".");
  }

  void TakeOwn(GivenAttributes& given) {
    for (size_t a = 0; a < op_.attributes.size(); ++a) {
      const AttributeTraits& attribute = op_.attributes[a];
      given.values[a] = seen_[a] ? values_[a] : EncodedNumber(attribute.default_value, attribute);
      if (seen_[a] || attribute.optional) continue;
      violations_.Add("attributes", "The attribute ", attribute.name,
                      " is missing; allowed: ", AllowedValues(attribute), ".");
    }
  }

  void TakeScaleBias(GivenAttributes& given) {
    const size_t scale = op_.attributes.size();
    const size_t bias = scale + 1;
    if (!seen_[scale] && !seen_[bias]) return;
    given.scale_bias = ScaleBias{.scale = static_cast<uint32_t>(values_[scale]),
                                 .bias = static_cast<uint32_t>(values_[bias])};
    if (seen_[scale] != seen_[bias]) {
      violations_.Add("attributes", "The attribute ", known_[seen_[scale] ? bias : scale].name,
                      " is missing: ", kScaleAttribute, " and ", kBiasAttribute,
                      " are given both or neither.");
    }
  }

  // An activation has the attributes that it has as an operator of its own, and needs them all.
  void TakeFusedActivation(GivenAttributes& given) {
    const size_t at = op_.attributes.size();
    // Of one that was refused nothing is known.
    if (seen_[at] && !is_valid_[at]) return;
    const OpTraits* const activation =
        seen_[at] ? &TraitsOf(static_cast<OpId>(values_[at])) : nullptr;
    if (activation != nullptr) given.fused_activation = {activation->id, {}};
    if (activation != nullptr && activation->SupportAt(level_) == nullptr) {
      violations_.Add("attributes", activation->name, ", given as ", kFusedActivation,
                      ", was introduced at feature level ", NameOf(activation->introduced()),
                      ", later than the level asked for (", NameOf(level_), ").");
    }
    for (size_t member = at + 1; member < known_.size(); ++member) {
      TakeFusedMember(activation, member, given);
    }
  }

  void TakeFusedMember(const OpTraits* activation, size_t member, GivenAttributes& given) {
    const absl::string_view name = known_[member].name;
    const AttributeTraits* found = nullptr;
    size_t index = 0;
    if (activation != nullptr) {
      const auto& own = activation->attributes;
      found = std::find_if(own.begin(), own.end(), [&](const AttributeTraits& attribute) {
        return FusedNameOf(attribute.name) == name;
      });
      index = static_cast<size_t>(found - own.begin());
      if (found == own.end()) found = nullptr;
    }
    if (found == nullptr) {
      if (!seen_[member]) return;
      violations_.Add("attributes", "The attribute ", name, " is given, but ",
                      activation != nullptr ? absl::StrCat(activation->name, " has none such")
                                            : absl::StrCat(kFusedActivation, " is not"),
                      ".");
      return;
    }
    if (!seen_[member]) {
      violations_.Add("attributes", "The attribute ", name, " is missing, which ", activation->name,
                      " needs; allowed: ", AllowedValues(*found), ".");
      return;
    }
    given.fused_activation->attributes[index] = values_[member];
    CheckMinimum(values_[member], *found, name, "attributes");
  }

  // The type that the attributes tell of scalars; where they do not, which is a fault of its own,
  // one that has every number.
  static DataType ScalarType(const OpTraits& op, std::span<const AttributeView> given) {
    for (const AttributeTraits& attribute : op.attributes) {
      if (attribute.kind != AttributeKind::kDataType) continue;
      for (const AttributeView& view : given) {
        if (view.name == attribute.name) return DataTypeOf(view).value_or(DataType::kFloat32);
      }
    }
    return DataType::kFloat32;
  }

  std::string Names() const {
    if (known_.empty()) return "none";
    return absl::StrJoin(known_, ", ", [](std::string* out, const AttributeTraits& a) {
      absl::StrAppend(out, a.name);
    });
  }

  const OpTraits& op_;
  const FeatureLevel level_;
  const std::vector<AttributeTraits> known_;
  const DataType scalar_type_;
  ViolationList& violations_;
  // Room for all of AttributesFor().
  static constexpr size_t kMaxKnown = kMaxAttributes + 2 + 1 + kFusedAttributes.size();
  std::array<bool, kMaxKnown> seen_ = {};
  std::array<bool, kMaxKnown> is_valid_ = {};
  std::array<uint64_t, kMaxKnown> values_ = {};
};

}  // namespace

std::vector<AttributeTraits> AttributesFor(const OpTraits& op) {
  std::vector<AttributeTraits> all(op.attributes.begin(), op.attributes.end());
  const auto add = [&all](absl::string_view name, AttributeKind kind) {
    all.push_back({.name = name, .kind = kind, .optional = true});
  };
  if (op.takes_scale_bias) {
    add(kScaleAttribute, AttributeKind::kFloat);
    add(kBiasAttribute, AttributeKind::kFloat);
  }
  if (op.takes_fused_activation) {
    add(kFusedActivation, AttributeKind::kActivation);
    for (absl::string_view name : kFusedAttributes) add(name, AttributeKind::kFloat);
  }
  return all;
}

GivenAttributes CheckAttributes(const OpTraits& op, FeatureLevel level,
                                std::span<const AttributeView> given, ViolationList& violations) {
  if (given.size() > kMaxListedItems) {
    violations.Add("attributes", "The number of attributes (", given.size(), ") exceeds what ",
                   op.name, " takes (", AttributesFor(op).size(), ").");
    return {};
  }
  AttributeCheck check(op, level, given, violations);
  for (size_t i = 0; i < given.size(); ++i)
    check.Take(given[i], absl::StrCat("attributes[", i, "]"));
  return check.Finish();
}

}  // namespace opserve
