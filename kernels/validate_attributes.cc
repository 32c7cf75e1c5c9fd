#include "kernels/validate_attributes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve {
namespace {

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
    case AttributeKind::kAxes:
      return absl::StrCat("a list, which may be empty, of dimensions from 0 to ",
                          kMaxDimensionCount - 1);
  }
  return "";
}

std::string ValueText(const AttributeView& given) {
  if (const auto* name = std::get_if<absl::string_view>(&given.value)) return Quoted(*name);
  if (const auto* number = std::get_if<int64_t>(&given.value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&given.value)) return absl::StrCat(*number);
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

// The value, or nullopt where it is not one that the attribute can have.
std::optional<uint32_t> ValueOf(const AttributeView& given, const AttributeTraits& traits) {
  if (traits.kind == AttributeKind::kEnum) return EnumValueOf(given, traits);
  if (traits.kind == AttributeKind::kAxes) return AxesOf(given);
  if (const auto* integer = std::get_if<int64_t>(&given.value)) {
    if (traits.kind == AttributeKind::kInt && *integer != static_cast<int32_t>(*integer)) {
      return std::nullopt;
    }
    return EncodedNumber(static_cast<double>(*integer), traits);
  }
  const auto* number = std::get_if<double>(&given.value);
  if (number == nullptr || traits.kind != AttributeKind::kFloat) return std::nullopt;
  return EncodedNumber(*number, traits);
}

// Whether an encoded FLOAT is not below its minimum. A NaN is.
bool IsAtLeast(uint32_t value, const AttributeTraits& traits) {
  return double{std::bit_cast<float>(value)} >= traits.minimum;
}

// One check: the values as far as they are given.
class AttributeCheck {
 public:
  AttributeCheck(const OpTraits& op, FeatureLevel level, ViolationList& violations)
      : op_(op), level_(level), known_(AttributesFor(op)), violations_(violations) {}

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
    const std::optional<uint32_t> value = ValueOf(given, *traits);
    values_[index] = value.value_or(0);
    if (!value) {
      violations_.Add(absl::StrCat(field, ".value"), "The value ", ValueText(given), " of ",
                      traits->name, " is not allowed; allowed: ", AllowedValues(*traits), ".");
    } else if (level_ < traits->minimum_until && !IsAtLeast(*value, *traits)) {
      violations_.Add(absl::StrCat(field, ".value"), "The value ", ValueText(given), " of ",
                      traits->name, " is not allowed below feature level ",
                      NameOf(traits->minimum_until), "; allowed: at least ", traits->minimum, ".");
    }
  }

  GivenAttributes Finish() {
    GivenAttributes given;
    for (size_t a = 0; a < op_.attributes.size(); ++a) {
      const AttributeTraits& attribute = op_.attributes[a];
      given.values[a] = seen_[a] ? values_[a] : EncodedNumber(attribute.default_value, attribute);
      if (seen_[a] || attribute.optional) continue;
      violations_.Add("attributes", "The attribute ", attribute.name,
                      " is missing; allowed: ", AllowedValues(attribute), ".");
    }
    const size_t scale = op_.attributes.size();
    const size_t bias = scale + 1;
    if (!op_.takes_scale_bias || !(seen_[scale] || seen_[bias])) return given;
    given.scale_bias = ScaleBias{.scale = values_[scale], .bias = values_[bias]};
    if (seen_[scale] != seen_[bias]) {
      violations_.Add("attributes", "The attribute ", known_[seen_[scale] ? bias : scale].name,
                      " is missing: ", kScaleAttribute, " and ", kBiasAttribute,
                      " are given both or neither.");
    }
    return given;
  }

 private:
  std::string Names() const {
    if (known_.empty()) return "none";
    return absl::StrJoin(known_, ", ", [](std::string* out, const AttributeTraits& a) {
      absl::StrAppend(out, a.name);
    });
  }

  const OpTraits& op_;
  const FeatureLevel level_;
  const std::vector<AttributeTraits> known_;
  ViolationList& violations_;
  std::array<bool, kMaxAttributes + 2> seen_ = {};
  std::array<uint32_t, kMaxAttributes + 2> values_ = {};
};

}  // namespace

std::vector<AttributeTraits> AttributesFor(const OpTraits& op) {
  std::vector<AttributeTraits> all(op.attributes.begin(), op.attributes.end());
  if (!op.takes_scale_bias) return all;
  for (absl::string_view name : {kScaleAttribute, kBiasAttribute}) {
    all.push_back({.name = name, .kind = AttributeKind::kFloat, .optional = true});
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
  AttributeCheck check(op, level, violations);
  for (size_t i = 0; i < given.size(); ++i)
    check.Take(given[i], absl::StrCat("attributes[", i, "]"));
  return check.Finish();
}

}  // namespace opserve
