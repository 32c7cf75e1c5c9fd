// The verb sequence: several operators in one call.

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/call_streams.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/run_report.h"
#include "client/cli/sequence_plan.h"
#include "client/cli/tensor_files.h"
#include "client/cli/tensor_report.h"
#include "client/wire/wire_sequences.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// What the call gave.
struct SequenceAnswer {
  std::vector<SequenceResult> results;
  ExecutionInfo info;
  absl::Duration round_trip;
};

absl::StatusOr<std::vector<StepText>> ReadSteps(const SequenceArguments& arguments) {
  if (!arguments.steps.empty()) return ParseSequenceSteps(arguments.steps);
  const bool standard_input = arguments.file == kStandardStream;
  const absl::StatusOr<std::string> text =
      standard_input ? ReadStandardInput() : ReadFile(arguments.file);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::vector<StepText>> steps = ParseSequenceDocument(*text);
  if (steps.ok()) return steps;
  return absl::InvalidArgumentError(absl::StrCat(standard_input ? "standard input" : arguments.file,
                                                 ": ", steps.status().message()));
}

// Runs the sequence the way that the arguments ask for.
absl::StatusOr<std::vector<SequenceResult>> Send(Client& client, const SequenceArguments& arguments,
                                                 const OperatorSequence& sequence,
                                                 ExecutionInfo* info) {
  if (!arguments.stream) return client.ExecuteSequence(sequence, {}, info);
  CallStreams streams;
  absl::Status opened = streams.Open(client, 1, client_internal::MakeRequest(sequence).host);
  if (!opened.ok()) return opened;
  return streams.Execute(sequence, info);
}

absl::Status WriteFiles(const PlannedSequence& plan, const std::vector<SequenceResult>& results,
                        const Terminal& terminal) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].tensor || plan.outputs[i].empty()) continue;
    absl::Status written = WriteTensorFile(plan.outputs[i], *results[i].tensor, terminal);
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

void PrintJson(const PlannedSequence& plan, const SequenceAnswer& answer,
               const Terminal& terminal) {
  Json json = {{"steps", plan.sequence.steps.size()}};
  json.update(ToJson(answer.info, answer.round_trip));
  for (size_t i = 0; i < answer.results.size(); ++i) {
    const SequenceResult& result = answer.results[i];
    const std::optional<TensorHandle> handle = HandleOf(plan.outputs[i]);
    Json output = {{"step", plan.sequence.outputs[i].step}};
    output.update(result.tensor ? ToJson(*result.tensor) : ToJson(result.spec));
    if (handle) {
      output["tensor"] = handle->id;
    } else if (!plan.outputs[i].empty()) {
      output["file"] = plan.outputs[i];
    }
    json["outputs"].push_back(std::move(output));
  }
  WriteJson(json, terminal);
}

void PrintText(const PlannedSequence& plan, const SequenceAnswer& answer,
               const Terminal& terminal) {
  const size_t count = plan.sequence.steps.size();
  terminal.out << terminal.Styled(Style::kBold,
                                  absl::StrCat(count, count == 1 ? " step " : " steps "))
               << ShowTimes(answer.info, answer.round_trip) << '\n'
               << ShowExecution(answer.info) << '\n';
  for (size_t i = 0; i < answer.results.size(); ++i) {
    const uint32_t step = plan.sequence.outputs[i].step;
    terminal.out << "step " << step << ", " << plan.sequence.steps[step].operator_name << ": ";
    if (answer.results[i].tensor) {
      PrintTensor(*answer.results[i].tensor, terminal);
    } else {
      PrintSpec(answer.results[i].spec, terminal);
    }
    if (!plan.outputs[i].empty()) terminal.out << "written to " << plan.outputs[i] << '\n';
  }
}

}  // namespace

int RunCommand(const SequenceArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<std::vector<StepText>> steps = ReadSteps(arguments);
  if (!steps.ok()) {
    const int code = FailFile(terminal, arguments.json, steps.status());
    return arguments.steps.empty() ? code : kUsage;
  }
  const absl::StatusOr<PlannedSequence> plan = PlanSequence(*steps, arguments);
  if (!plan.ok()) return FailFile(terminal, arguments.json, plan.status());
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());

  const std::string& address = arguments.server.address;
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, "sequence", address, status, plan->inputs);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  SequenceAnswer answer;
  const auto start = std::chrono::steady_clock::now();
  auto results = Send(**client, arguments, plan->sequence, &answer.info);
  answer.round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  if (!results.ok()) return fail(results.status());
  answer.results = *std::move(results);

  const absl::Status written = WriteFiles(*plan, answer.results, terminal);
  if (!written.ok()) return FailFile(terminal, arguments.json, written);
  if (std::ranges::count(plan->outputs, kStandardStream) > 0) return kSuccess;
  if (arguments.json) {
    PrintJson(*plan, answer, terminal);
  } else {
    PrintText(*plan, answer, terminal);
  }
  return kSuccess;
}

}  // namespace opserve::cli
