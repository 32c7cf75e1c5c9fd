#include "server/kserve/model_names.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/operator_hint.h"
#include "kernels/utf8.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

struct KserveType {
  DataType type;
  absl::string_view name;
  inference::DataType number;
};

constexpr KserveType kTypes[] = {
    {DataType::kFloat64, "FP64", inference::TYPE_FP64},
    {DataType::kFloat32, "FP32", inference::TYPE_FP32},
    {DataType::kFloat16, "FP16", inference::TYPE_FP16},
    {DataType::kInt64, "INT64", inference::TYPE_INT64},
    {DataType::kInt32, "INT32", inference::TYPE_INT32},
    {DataType::kInt16, "INT16", inference::TYPE_INT16},
    {DataType::kInt8, "INT8", inference::TYPE_INT8},
    {DataType::kUint64, "UINT64", inference::TYPE_UINT64},
    {DataType::kUint32, "UINT32", inference::TYPE_UINT32},
    {DataType::kUint16, "UINT16", inference::TYPE_UINT16},
    {DataType::kUint8, "UINT8", inference::TYPE_UINT8},
};
static_assert(std::size(kTypes) == std::size(kAllDataTypes));

const KserveType& Find(DataType type) {
  return *std::ranges::find(kTypes, type, &KserveType::type);
}

}  // namespace

std::string ModelNameOf(const OpTraits& op) { return absl::AsciiStrToLower(op.name); }

std::string OperatorNameOf(absl::string_view model) { return absl::AsciiStrToUpper(model); }

absl::StatusOr<const OpTraits*> FindModel(absl::string_view name, absl::string_view version) {
  const std::string operator_name = OperatorNameOf(name);
  const OpTraits* const op = FindOperator(operator_name);
  if (op == nullptr) {
    const std::string shown(TruncateUtf8(name, 64));
    return MakeViolationError(
        std::vector<Violation>{
            {"name", absl::StrCat("There is no model \"", shown, "\"",
                                  absl::AsciiStrToLower(OperatorHint(operator_name)))}},
        shown);
  }
  if (version.empty() || version == kModelVersion) return op;
  return MakeViolationError(
      {"version", absl::StrCat("There is no version \"", TruncateUtf8(version, 64),
                               "\"; allowed are \"1\" and none.")});
}

absl::string_view KserveNameOf(DataType type) { return Find(type).name; }

std::optional<DataType> DataTypeFromKserveName(absl::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &KserveType::name);
  if (found == std::end(kTypes)) return std::nullopt;
  return found->type;
}

std::string KserveTypeNames() {
  return absl::StrJoin(kTypes, ", ", [](std::string* out, const KserveType& type) {
    absl::StrAppend(out, type.name);
  });
}

inference::DataType KserveNumberOf(DataType type) { return Find(type).number; }

}  // namespace opserve
