#include "client/cli/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/arguments/arguments.h"
#include "client/rpc/target.h"
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

// What to do about an error of the connection or of the options, per reason of opserve/errors.h.
struct Cure {
  absl::string_view reason;
  ExitCode code;
  const char* text;
};

constexpr Cure kCures[] = {
    {kInvalidOptions, kUsage, "see --help"},
    {kInvalidTarget, kUsage, "see --address"},
    {kTokenNeedsTls, kUsage, "encrypt with --tls, or with --tls-ca FILE"},
    {kConnectTimeout, kUnreachable, "see --address and --timeout"},
    {kConnectionRefused, kUnreachable, "is opserve-server running there? See --address"},
    {kUnknownHost, kUnreachable, "see --address"},
    {kServerWithoutTls, kUnreachable, "leave out --tls and all --tls-... options"},
    {kServerWantsTls, kUnreachable, "if it wants TLS: --tls, or --tls-ca FILE"},
    {kCertificateNotTrusted, kUnreachable, "name the authority that signed it with --tls-ca FILE"},
    {kCertificateOfAnotherName, kUnreachable,
     "name it with --tls-server-name NAME, if it is the right server"},
    {kClientCertificateRefused, kUnreachable,
     "show another with --tls-certificate FILE --tls-key FILE"},
};

// Where the server does not let the caller.
constexpr Cure kUnknownCaller = {
    "", kDenied, "say who you are: --token-file FILE, or --tls-certificate, --tls-key"};
constexpr Cure kNotAllowed = {"", kDenied,
                              "use --token-file or --tls-certificate of a caller who may"};
constexpr Cure kNoAnswer = {"", kUnreachable, "is opserve-server running there? See --address"};

// nullptr where nothing but the call itself is at fault.
const Cure* CureOf(const absl::Status& status, absl::string_view reason) {
  for (const Cure& cure : kCures) {
    if (cure.reason == reason) return &cure;
  }
  if (absl::IsUnauthenticated(status)) return &kUnknownCaller;
  if (absl::IsPermissionDenied(status)) return &kNotAllowed;
  // With a reason it is the answer of a server.
  return absl::IsUnavailable(status) && reason.empty() ? &kNoAnswer : nullptr;
}

// The error as one object for programs.
void WriteError(const absl::Status& status, const Terminal& terminal) {
  nlohmann::ordered_json error = {{"code", absl::StatusCodeToString(status.code())},
                                  {"message", std::string(status.message())}};
  const std::string reason = GetErrorReason(status);
  if (!reason.empty()) error["reason"] = reason;
  const std::optional<absl::Duration> delay = GetRetryDelay(status);
  if (delay) error["retry_delay_ns"] = absl::ToInt64Nanoseconds(*delay);
  for (const FieldViolation& violation : GetViolations(status)) {
    error["violations"].push_back(
        {{"field", violation.field}, {"description", violation.description}});
  }
  WriteJson({{"error", error}}, terminal);
}

// Whether a command line asks for JSON. What follows "--" is of another command.
bool IsForPrograms(const std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

// Which hosts there are to choose from, where the address of one is needed.
std::string HostsOf(absl::string_view address) {
  std::vector<std::string> choices;
  for (const absl::string_view host : absl::StrSplit(address, ',')) {
    const bool is_name = client_internal::NamesAllHosts(host);
    choices.push_back(absl::StrCat(is_name ? "one host of " : "", host));
  }
  return absl::StrCat("the target is ", absl::StrJoin(choices, ", "), ": name one with --address");
}

int Fail(const Terminal& terminal, bool json, ExitCode code, absl::string_view text,
         const absl::Status& status, const Inputs& inputs, const std::string& cure = "") {
  const std::vector<FieldViolation> violations = GetViolations(status);
  const std::optional<absl::Duration> delay = GetRetryDelay(status);
  terminal.err << "opserve: " << text << '\n';
  for (const FieldViolation& violation : violations) {
    terminal.err << "  - " << violation.field << InputOf(violation.field, inputs) << ": "
                 << violation.description << '\n';
  }
  if (delay) terminal.err << "  try again in " << absl::FormatDuration(*delay) << '\n';
  if (!cure.empty()) terminal.err << "  " << cure << '\n';
  if (json) WriteError(status, terminal);
  return code;
}

}  // namespace

void WriteJson(const nlohmann::ordered_json& json, const Terminal& terminal) {
  using ErrorHandler = nlohmann::ordered_json::error_handler_t;
  terminal.out << json.dump(2, ' ', false, ErrorHandler::replace) << '\n';
}

int FailFile(const Terminal& terminal, bool json, const absl::Status& status) {
  return Fail(terminal, json, kFileError, status.message(), status, {});
}

int FailUsage(const Terminal& terminal, bool json, const absl::Status& status) {
  return Fail(terminal, json, kUsage, status.message(), status, {});
}

int FailArguments(const Terminal& terminal, const std::vector<std::string>& arguments,
                  absl::string_view complaint) {
  terminal.err << complaint;
  if (!IsForPrograms(arguments)) return kUsage;
  std::vector<absl::string_view> lines = absl::StrSplit(complaint, '\n', absl::SkipWhitespace());
  // The last one tells how to get help.
  if (lines.size() > 1) lines.pop_back();
  for (absl::string_view& line : lines) absl::ConsumePrefix(&line, "opserve: ");
  WriteError(absl::InvalidArgumentError(absl::StrJoin(lines, "; ")), terminal);
  return kUsage;
}

int FailCall(const Terminal& terminal, bool json, absl::string_view what, absl::string_view address,
             const absl::Status& status, const std::vector<std::string>& inputs) {
  const std::string reason = GetErrorReason(status);
  const Cure* const cure = CureOf(status, reason);
  if (cure == nullptr) {
    return Fail(
        terminal, json, kCallFailed,
        absl::StrCat(what, ": ", absl::StatusCodeToString(status.code()), ": ", status.message()),
        status, inputs, reason == kOneHostNeeded ? HostsOf(address) : "");
  }
  std::string text(status.message());
  const std::string start = absl::StrCat("no connection to ", address, ": ");
  if (cure->code == kUnreachable && !absl::StartsWith(text, start)) {
    text = absl::StrCat("no answer from ", address, ": ", text);
  }
  if (cure->code == kDenied) {
    text = absl::StrCat(what, ": ", absl::StatusCodeToString(status.code()), ": ", text);
  }
  return Fail(terminal, json, cure->code, text, status, inputs, cure->text);
}

int WithOutput(const Terminal& terminal, int exit_code) {
  errno = 0;
  // The stream has no buffer of its own, so that errors may be known only to the one below.
  terminal.out.flush();
  const bool is_written =
      std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && terminal.out.good();
  if (is_written || exit_code != kSuccess) return exit_code;
  return FailFile(terminal, /*json=*/false,
                  errno == 0 ? absl::DataLossError("cannot write standard output")
                             : absl::ErrnoToStatus(errno, "cannot write standard output"));
}

}  // namespace opserve::cli
