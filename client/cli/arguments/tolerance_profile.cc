#include "client/cli/arguments/tolerance_profile.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace opserve::cli {
namespace {

struct ToleranceRow {
  absl::string_view operator_name;
  DataType type;
  Tolerance tolerance;
};

constexpr ToleranceRow kWebnnRows[] = {
#define OPSERVE_WEBNN_ULP(OPERATOR, WEBNN, FLOAT32, FLOAT16) \
  {#OPERATOR, DataType::kFloat32, {.ulp = FLOAT32}},         \
      {#OPERATOR, DataType::kFloat16, {.ulp = FLOAT16}},
#define OPSERVE_WEBNN_ABSOLUTE(OPERATOR, WEBNN, FLOAT32, FLOAT16) \
  {#OPERATOR, DataType::kFloat32, {.absolute = FLOAT32}},         \
      {#OPERATOR, DataType::kFloat16, {.absolute = FLOAT16}},
#define OPSERVE_WEBNN_EXACT(OPERATOR, WEBNN, TYPE) {#OPERATOR, DataType::TYPE, {}},
#include "client/cli/arguments/webnn_tolerances.def"
#undef OPSERVE_WEBNN_ULP
#undef OPSERVE_WEBNN_ABSOLUTE
#undef OPSERVE_WEBNN_EXACT
};

std::string NoRow(ToleranceProfile profile, absl::string_view what) {
  return absl::StrCat("--profile ", absl::AsciiStrToLower(NameOf(profile)),
                      " has no tolerance for ", what, "; give one with --max-ulp");
}

}  // namespace

absl::string_view NameOf(ToleranceProfile profile) {
  return profile == ToleranceProfile::kWebnn ? "WEBNN" : "NONE";
}

std::string ComplaintAbout(ToleranceProfile profile, absl::string_view operator_name) {
  if (profile == ToleranceProfile::kNone) return "";
  for (const ToleranceRow& row : kWebnnRows) {
    if (row.operator_name == operator_name) return "";
  }
  return NoRow(profile, operator_name);
}

absl::StatusOr<Tolerance> ToleranceOf(ToleranceProfile profile, absl::string_view operator_name,
                                      DataType type) {
  if (profile == ToleranceProfile::kWebnn) {
    for (const ToleranceRow& row : kWebnnRows) {
      if (row.operator_name == operator_name && row.type == type) return row.tolerance;
    }
  }
  return absl::NotFoundError(
      NoRow(profile, absl::StrCat(operator_name, " with results of ", NameOf(type))));
}

}  // namespace opserve::cli
