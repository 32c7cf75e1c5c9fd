#include "kernels/validate_attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>

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
      return "an integer";
    case AttributeKind::kFloat:
      return "a number";
  }
  return "";
}

std::string NamesOf(const OpTraits& op) {
  if (op.attributes.empty()) return "none";
  return absl::StrJoin(op.attributes, ", ", [](std::string* out, const AttributeTraits& a) {
    absl::StrAppend(out, a.name);
  });
}

std::string ValueText(const AttributeView& given) {
  if (const auto* name = std::get_if<absl::string_view>(&given.value)) return Quoted(*name);
  if (const auto* number = std::get_if<int64_t>(&given.value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&given.value)) return absl::StrCat(*number);
  return "(none)";
}

std::optional<double> EnumValueOf(const AttributeView& given, const AttributeTraits& traits) {
  const auto* name = std::get_if<absl::string_view>(&given.value);
  const auto* number = std::get_if<int64_t>(&given.value);
  for (const EnumValue& value : traits.values) {
    if ((name != nullptr && *name == value.name) ||
        (number != nullptr && *number == value.number)) {
      return value.number;
    }
  }
  return std::nullopt;
}

// The value, or nullopt where it is not one that the attribute can have.
std::optional<double> ValueOf(const AttributeView& given, const AttributeTraits& traits) {
  if (traits.kind == AttributeKind::kEnum) return EnumValueOf(given, traits);
  if (const auto* integer = std::get_if<int64_t>(&given.value)) {
    return static_cast<double>(*integer);
  }
  const auto* number = std::get_if<double>(&given.value);
  if (number != nullptr && traits.kind == AttributeKind::kFloat) return *number;
  return std::nullopt;
}

}  // namespace

AttributeValues CheckAttributes(const OpTraits& op, std::span<const AttributeView> given,
                                ViolationList& violations) {
  AttributeValues values = {};
  if (given.size() > kMaxListedItems) {
    violations.Add("attributes", "The number of attributes (", given.size(), ") exceeds what ",
                   op.name, " takes (", op.attributes.size(), ").");
    return values;
  }
  std::array<bool, kMaxAttributes> seen = {};
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string field = absl::StrCat("attributes[", i, "]");
    const auto* traits =
        std::find_if(op.attributes.begin(), op.attributes.end(),
                     [&](const AttributeTraits& known) { return known.name == given[i].name; });
    if (traits == op.attributes.end()) {
      violations.Add(absl::StrCat(field, ".name"), op.name, " has no attribute ",
                     Quoted(given[i].name), "; it has ", NamesOf(op), ".");
      continue;
    }
    const auto index = static_cast<size_t>(traits - op.attributes.begin());
    if (seen[index]) {
      violations.Add(absl::StrCat(field, ".name"), "The attribute ", traits->name,
                     " is given more than once.");
      continue;
    }
    seen[index] = true;
    const std::optional<double> value = ValueOf(given[i], *traits);
    values[index] = value.value_or(0);
    if (!value) {
      violations.Add(absl::StrCat(field, ".value"), "The value ", ValueText(given[i]), " of ",
                     traits->name, " is not allowed; allowed: ", AllowedValues(*traits), ".");
    }
  }
  for (size_t a = 0; a < op.attributes.size(); ++a) {
    const AttributeTraits& attribute = op.attributes[a];
    if (seen[a]) continue;
    values[a] = attribute.default_value;
    if (attribute.optional) continue;
    violations.Add("attributes", "The attribute ", attribute.name,
                   " is missing; allowed: ", AllowedValues(attribute), ".");
  }
  return values;
}

}  // namespace opserve
