// File: client/cli/comparison_report.h
//
// What `opserve compare` shows: verdicts, histograms and the worst elements, as text and as JSON.
// Stateless.

#ifndef OPSERVE_CLIENT_CLI_COMPARISON_REPORT_H_
#define OPSERVE_CLIENT_CLI_COMPARISON_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cli/terminal.h"
#include "opserve/client.h"

namespace opserve::cli {

enum class Verdict {
  kPass,     // within the tolerance
  kFail,     // beyond it
  kError,    // there is no result to compare
  kSkipped,  // nor can there be one
};

// "PASS", "FAIL", "ERROR", "SKIPPED".
absl::string_view NameOf(Verdict verdict);

// The result of one device, from a file or from the server, and what came of it.
struct ComparedResult {
  std::string name;  // of the file or the device
  Verdict verdict = Verdict::kError;
  std::string reason = {};                     // why there is nothing to compare
  std::optional<Comparison> comparison = {};   // with kPass and kFail
  absl::Duration time = absl::ZeroDuration();  // of the call and the comparison
};

// All results of one call.
struct ComparisonReport {
  std::string operator_name;
  // Type and layout of the right result.
  TensorSpec spec = {};
  ExecutionInfo info = {};
  absl::Duration round_trip = absl::ZeroDuration();
  Tolerance tolerance = {};
  std::vector<ComparedResult> results = {};
};

// Whether a result has that verdict.
bool HasVerdict(const ComparisonReport& report, Verdict verdict);

// Whether something was compared, and all of it is within the tolerance.
bool HasPassed(const ComparisonReport& report);

// "2 ulp", "0.001 absolute", or both with " or " in between.
std::string ShowTolerance(const Tolerance& tolerance);

// One line that says what is wrong with a result; of one that passed, how it differs.
std::string Summarize(const ComparedResult& result);

// The worst elements as a table of at most 80 columns.
void PrintWorst(const Comparison& comparison, const Terminal& terminal);

void PrintReport(const ComparisonReport& report, const Terminal& terminal);

nlohmann::ordered_json ToJson(const ComparisonReport& report);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_COMPARISON_REPORT_H_
