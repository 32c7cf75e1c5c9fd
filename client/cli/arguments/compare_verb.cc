// The verb compare.

#include <cmath>

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

constexpr char kCompareFooter[] =
    "The processor of the server computes the right result, unless --device says\n"
    "otherwise. An element is within the tolerance where --max-ulp or --max-absolute\n"
    "holds. Distances are in ulp, units in the last place: neighbouring floats are 1\n"
    "apart, -0 and +0 are none, and of integers it is the difference. A NaN is any\n"
    "NaN, and beyond every tolerance where only one side has it.\n"
    "\n"
    "Exit code 0: all is within the tolerance; 8: it is not; 1: a device gave no\n"
    "result, or the call failed; 5: there was nothing to compare.\n"
    "\n"
    "Examples:\n"
    "  opserve compare ELEMENT_WISE_ROUND --attr RoundingMode=TOWARD_ZERO \\\n"
    "      --input x.npy --actual phone.npy --actual laptop.npy --junit report.xml\n"
    "  opserve compare ELEMENT_WISE_ADD --input x.npy --input y.npy \\\n"
    "      --actual z.npy --profile webnn\n"
    "  opserve compare ELEMENT_WISE_ADD --input x.npy --input y.npy --devices all";

// A distance; all numbers of 64 bits are exact.
TakeText TakeUlp(std::optional<uint64_t>& ulp) {
  return [&ulp](const std::string& text) -> std::string {
    uint64_t parsed;
    if (!absl::SimpleAtoi(text, &parsed)) {
      return absl::StrCat("'", text, "' is no whole number from 0 to ", UINT64_MAX);
    }
    ulp = parsed;
    return "";
  };
}

TakeText TakeError(std::optional<double>& error) {
  return [&error](const std::string& text) -> std::string {
    double parsed;
    if (!absl::SimpleAtod(text, &parsed) || !std::isfinite(parsed) || parsed < 0) {
      return absl::StrCat("'", text, "' is no number from 0 on, such as 0.001");
    }
    error = parsed;
    return "";
  };
}

std::string CheckCompare(const CompareArguments& compare) {
  std::string complaint = CheckCall(compare.call);
  if (!complaint.empty()) return complaint;
  std::vector<std::string> files = compare.call.inputs;
  files.insert(files.end(), compare.actuals.begin(), compare.actuals.end());
  complaint = CheckInputFiles(files);
  if (!complaint.empty()) return complaint;
  if (compare.actuals.empty() && compare.devices.empty()) {
    return "needs results to compare: --actual FILE, or --devices all";
  }
  for (const std::string& file : compare.actuals) {
    if (HandleOf(file)) {
      return "--actual must be a file; `opserve tensor read` makes one of a tensor at the server";
    }
  }
  if (!compare.devices.empty() && compare.call.device != DevicePreference::kCpu) {
    return "--devices compares with the processor, so leave out --device";
  }
  if (!compare.devices.empty() && compare.call.verify) {
    return "--verify has wrong results of GPUs replaced, so it does not go with --devices";
  }
  if (compare.json && compare.junit_file == kStandardStream) {
    return "--json and --junit - both write to standard output";
  }
  if (compare.profile == ToleranceProfile::kNone) return "";
  if (compare.max_ulp || compare.max_absolute) {
    return "--profile has its own tolerances, so leave out --max-ulp and --max-absolute";
  }
  return ComplaintAbout(compare.profile, compare.call.operator_name);
}

}  // namespace

void AddCompare(Verb root, Command& command) {
  const auto compare = std::make_shared<CompareArguments>();
  compare->call.device = DevicePreference::kCpu;
  const std::vector profiles = {ToleranceProfile::kNone, ToleranceProfile::kWebnn};
  Verb verb = root.AddVerb("compare", "Compare results of other devices with the right one");
  verb.SetFooter(kCompareFooter);
  AddCall(verb, compare->call);
  verb.AddOption("--actual", "FILE", AppendAny(compare->actuals),
                 "Result of another device: a .npy file, or - for standard input",
                 {.repeated = true});
  verb.AddOption("--devices", "DEVICE", AppendAny(compare->devices),
                 "Run the call on this GPU of the server too, by its name in `opserve devices`, or "
                 "on all GPUs where it is `all`; each is leased meanwhile, see `opserve lease`",
                 {.repeated = true});
  verb.AddOption("--max-ulp", "NUMBER", TakeUlp(compare->max_ulp),
                 "Largest distance within the tolerance [0]");
  verb.AddOption("--max-absolute", "NUMBER", TakeError(compare->max_absolute),
                 "Largest difference of values within the tolerance [0]");
  verb.AddOption("--profile", NamesOf(profiles, "|"), TakeName(profiles, compare->profile),
                 "Take the tolerance of the operator from WebNN's conformance tests",
                 {.default_value = "none"});
  verb.AddFlag("--same-nans", compare->same_nans, "NaNs are equal only with the same bits");
  verb.AddFlag("--signed-zeros", compare->signed_zeros, "-0 and +0 are not equal");
  verb.AddOption("--worst", "NUMBER", TakeNumber(0, 10000, compare->worst),
                 "How many of the worst elements to list", {.default_value = "10"});
  verb.AddOption("--junit", "FILE", TakeAny(compare->junit_file),
                 "Write the verdicts to this file too, as JUnit's XML, or - for standard output "
                 "instead of the text");
  ChooseAtServer<CompareArguments>(verb, command, compare, CheckCompare);
}

}  // namespace opserve::cli
