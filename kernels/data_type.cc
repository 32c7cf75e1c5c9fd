#include "kernels/data_type.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace opserve {

std::optional<DataType> DataTypeFromNumber(int number) {
  if (number <= 0 || number >= kDataTypeCount) return std::nullopt;
  return static_cast<DataType>(number);
}

std::optional<DataType> DataTypeFromName(absl::string_view name) {
  for (DataType type : kAllDataTypes) {
    if (absl::EqualsIgnoreCase(name, NameOf(type))) return type;
  }
  return std::nullopt;
}

std::string DataTypeSet::ToString() const {
  std::string text;
  for (DataType type : kAllDataTypes) {
    if (contains(type)) absl::StrAppend(&text, text.empty() ? "" : ", ", NameOf(type));
  }
  return text;
}

}  // namespace opserve
