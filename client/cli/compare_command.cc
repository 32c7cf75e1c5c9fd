// The verb compare: results from files and of the server's GPUs against the right one.

#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/comparison_report.h"
#include "client/cli/device_run.h"
#include "client/cli/junit_report.h"
#include "client/cli/report.h"
#include "client/cli/tensor_files.h"

namespace opserve::cli {
namespace {

// Time of a clock that nobody sets.
absl::Duration ClockReading() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

absl::StatusOr<Tolerance> ToleranceFor(const CompareArguments& arguments, DataType type) {
  if (arguments.profile != ToleranceProfile::kNone) {
    return ToleranceOf(arguments.profile, arguments.call.operator_name, type);
  }
  return Tolerance{.ulp = arguments.max_ulp.value_or(0),
                   .absolute = arguments.max_absolute.value_or(0)};
}

// What a result is compared with, and how.
struct RightResult {
  const Tensor& expected;
  const std::vector<TensorView>& inputs;
  ComparisonOptions options;
};

absl::StatusOr<ComparedResult> Judge(const RightResult& right, const std::string& name,
                                     const Tensor& actual) {
  const absl::Duration start = ClockReading();
  absl::StatusOr<Comparison> comparison =
      CompareTensors(right.expected.view(), actual.view(), right.inputs, right.options);
  if (!comparison.ok()) return comparison.status();
  const Verdict verdict = comparison->within_tolerance() ? Verdict::kPass : Verdict::kFail;
  return ComparedResult{.name = name,
                        .verdict = verdict,
                        .comparison = *std::move(comparison),
                        .time = ClockReading() - start};
}

// The results in files; the errors name one.
absl::Status JudgeFiles(const RightResult& right, const std::vector<std::string>& files,
                        const std::vector<Tensor>& tensors, ComparisonReport& report) {
  for (size_t i = 0; i < files.size(); ++i) {
    absl::StatusOr<ComparedResult> result = Judge(right, files[i], tensors[i]);
    if (!result.ok()) {
      return absl::Status(result.status().code(),
                          absl::StrCat(files[i], ": ", result.status().message()));
    }
    report.results.push_back(*std::move(result));
  }
  return absl::OkStatus();
}

absl::Status JudgeDevice(const RightResult& right, const DeviceRun& run, ComparisonReport& report) {
  ComparedResult result{.name = run.device,
                        .verdict = run.is_unsupported ? Verdict::kSkipped : Verdict::kError,
                        .reason = run.failure};
  if (run.result) {
    absl::StatusOr<ComparedResult> judged = Judge(right, run.device, *run.result);
    if (!judged.ok()) return judged.status();
    result = *std::move(judged);
  }
  result.time += run.round_trip;
  report.results.push_back(std::move(result));
  return absl::OkStatus();
}

absl::Status JudgeDevices(Client& client, const RightResult& right, const OperatorCall& call,
                          const CompareArguments& arguments, ComparisonReport& report) {
  if (arguments.devices.empty()) return absl::OkStatus();
  const absl::StatusOr<ServerInfo> info = client.GetServerInfo();
  if (!info.ok()) return info.status();
  const absl::StatusOr<std::vector<DeviceInfo>> gpus = SelectGpus(info->devices, arguments.devices);
  if (!gpus.ok()) return gpus.status();
  for (const DeviceInfo& gpu : *gpus) {
    const DeviceRun run = RunOnDevice(client, gpu, call, arguments.server.timeout);
    absl::Status judged = JudgeDevice(right, run, report);
    if (!judged.ok()) return judged;
  }
  return absl::OkStatus();
}

int ExitCodeOf(const ComparisonReport& report) {
  if (HasVerdict(report, Verdict::kFail)) return kDifferent;
  if (HasVerdict(report, Verdict::kError)) return kCallFailed;
  return HasPassed(report) ? kSuccess : kTestFailed;
}

// The file first: what is printed may be cut off.
int Show(const CompareArguments& arguments, const ComparisonReport& report,
         const Terminal& terminal) {
  if (!arguments.junit_file.empty()) {
    const absl::Status written = WriteBytes(arguments.junit_file, RenderJunit(report), terminal);
    if (!written.ok()) return FailFile(terminal, arguments.json, written);
  }
  if (arguments.json) {
    WriteJson(ToJson(report), terminal);
  } else if (arguments.junit_file != kStandardStream) {
    PrintReport(report, terminal);
  }
  if (!HasVerdict(report, Verdict::kPass) && !HasVerdict(report, Verdict::kFail) &&
      !HasVerdict(report, Verdict::kError)) {
    terminal.err << "opserve: nothing was compared: "
                 << (report.results.empty() ? "the server has no GPU"
                                            : "no GPU has a kernel for it")
                 << '\n';
  }
  return ExitCodeOf(report);
}

}  // namespace

int RunCommand(const CompareArguments& arguments, const Terminal& terminal) {
  absl::StatusOr<FileCall> made = MakeCall(arguments.call);
  if (!made.ok()) return FailFile(terminal, arguments.json, made.status());
  std::vector<Tensor> actuals;
  for (const std::string& file : arguments.actuals) {
    absl::StatusOr<Tensor> tensor = ReadTensorFile(file);
    if (!tensor.ok()) return FailFile(terminal, arguments.json, tensor.status());
    actuals.push_back(*std::move(tensor));
  }
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());

  const std::string address =
      AddressFor(arguments.server.address, HandlesAmong(arguments.call.inputs));
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, arguments.call.operator_name, address, status,
                    arguments.call.inputs);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  const absl::Status completed = CompleteResidentInputs(**client, /*all=*/false, made->call);
  if (!completed.ok()) return fail(completed);
  ComparisonReport report{.operator_name = arguments.call.operator_name};
  const absl::Duration start = ClockReading();
  const absl::StatusOr<Tensor> expected = (*client)->Execute(made->call, {}, &report.info);
  report.round_trip = ClockReading() - start;
  if (!expected.ok()) return fail(expected.status());
  report.spec = expected->spec();

  const absl::StatusOr<Tolerance> tolerance = ToleranceFor(arguments, expected->data_type());
  if (!tolerance.ok()) return FailUsage(terminal, arguments.json, tolerance.status());
  report.tolerance = *tolerance;
  const RightResult right{*expected,
                          made->call.inputs,
                          {.tolerance = *tolerance,
                           .same_nans = arguments.same_nans,
                           .signed_zeros = arguments.signed_zeros,
                           .worst_elements = static_cast<size_t>(arguments.worst)}};
  const absl::Status judged = JudgeFiles(right, arguments.actuals, actuals, report);
  if (!judged.ok()) return FailFile(terminal, arguments.json, judged);
  const absl::Status ran = JudgeDevices(**client, right, made->call, arguments, report);
  if (!ran.ok()) return fail(ran);
  return Show(arguments, report, terminal);
}

}  // namespace opserve::cli
