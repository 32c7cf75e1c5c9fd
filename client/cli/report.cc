#include "client/cli/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/arguments.h"
#include "opserve/errors.h"

namespace opserve::cli {
namespace {

using Inputs = std::vector<std::string>;

// " (x.npy)" where `field` is about the tensor or the bytes of that input. Only files have bytes in
// the request.
std::string InputOf(absl::string_view field, const Inputs& inputs) {
  size_t payload = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool travels = !HandleOf(inputs[i]);
    if (absl::StartsWith(field, absl::StrCat("inputs[", i, "]")) ||
        (travels && absl::StartsWith(field, absl::StrCat("payloads[", payload, "]")))) {
      return absl::StrCat(" (", inputs[i], ")");
    }
    if (travels) ++payload;
  }
  return "";
}

int Fail(const Terminal& terminal, bool json, ExitCode code, absl::string_view text,
         const absl::Status& status, const Inputs& inputs) {
  const std::vector<FieldViolation> violations = GetViolations(status);
  const std::string reason = GetErrorReason(status);
  terminal.err << "opserve: " << text << '\n';
  for (const FieldViolation& violation : violations) {
    terminal.err << "  - " << violation.field << InputOf(violation.field, inputs) << ": "
                 << violation.description << '\n';
  }
  if (!json) return code;

  nlohmann::ordered_json error = {{"code", absl::StatusCodeToString(status.code())},
                                  {"message", std::string(status.message())}};
  if (!reason.empty()) error["reason"] = reason;
  for (const FieldViolation& violation : violations) {
    error["violations"].push_back(
        {{"field", violation.field}, {"description", violation.description}});
  }
  // Messages can quote bytes of a request that are not UTF-8.
  terminal.out << nlohmann::ordered_json{{"error", error}}.dump(
                      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
               << '\n';
  return code;
}

}  // namespace

int FailFile(const Terminal& terminal, bool json, const absl::Status& status) {
  return Fail(terminal, json, kFileError, status.message(), status, {});
}

int FailCall(const Terminal& terminal, bool json, absl::string_view what, absl::string_view address,
             const absl::Status& status, const std::vector<std::string>& inputs) {
  if (absl::IsUnavailable(status)) {
    return Fail(terminal, json, kUnreachable,
                absl::StrCat("no answer from ", address, ": ", status.message(),
                             "; is opserve-server running there? See --address"),
                status, inputs);
  }
  return Fail(
      terminal, json, kCallFailed,
      absl::StrCat(what, ": ", absl::StatusCodeToString(status.code()), ": ", status.message()),
      status, inputs);
}

}  // namespace opserve::cli
