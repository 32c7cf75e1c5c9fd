// The verbs that make a call from tensors: run, and pack, which only writes the request.

#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/call_streams.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/run_report.h"
#include "client/cli/shared_run.h"
#include "client/cli/tensor_files.h"
#include "client/cli/tensor_report.h"
#include "client/wire/wire.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// A result and how it came about.
struct RunResult {
  SequenceResult output;
  ExecutionInfo info;
  absl::Duration round_trip;
};

absl::StatusOr<SequenceResult> ResultOf(absl::StatusOr<Tensor> tensor) {
  if (!tensor.ok()) return tensor.status();
  return SequenceResult{tensor->spec(), *std::move(tensor)};
}

absl::StatusOr<SequenceResult> ExecuteOnStream(Client& client, const OperatorCall& call,
                                               ExecutionInfo* info) {
  CallStreams streams;
  absl::Status opened = streams.Open(client, 1, client_internal::MakeRequest(call).host);
  if (!opened.ok()) return opened;
  return ResultOf(streams.Execute(call, info));
}

// Sends the call the way that the arguments ask for.
absl::StatusOr<SequenceResult> Send(Client& client, const RunArguments& arguments,
                                    const OperatorCall& call, ExecutionInfo* info) {
  const std::optional<TensorHandle> handle = HandleOf(arguments.output);
  if (arguments.shared_memory) return ExecuteShared(client, call, handle, info);
  if (arguments.stream) return ExecuteOnStream(client, call, info);
  if (!handle) return ResultOf(client.Execute(call, {}, info));
  absl::StatusOr<TensorSpec> spec = client.ExecuteTo(call, *handle, {}, info);
  if (!spec.ok()) return spec.status();
  return SequenceResult{*std::move(spec), {}};
}

std::string AddressOf(const RunArguments& arguments) {
  std::vector<TensorHandle> tensors = HandlesAmong(arguments.call.inputs);
  const std::optional<TensorHandle> output = HandleOf(arguments.output);
  if (output) tensors.push_back(*output);
  return AddressFor(arguments.server.address, tensors);
}

void PrintJson(const RunArguments& arguments, const RunResult& result, const Terminal& terminal) {
  Json json = {{"operator", arguments.call.operator_name}};
  json.update(ToJson(result.info, result.round_trip));
  const std::optional<Tensor>& tensor = result.output.tensor;
  json["output"] = tensor ? ToJson(*tensor) : ToJson(result.output.spec);
  const std::optional<TensorHandle> handle = HandleOf(arguments.output);
  if (handle) {
    json["output"]["tensor"] = handle->id;
  } else if (!arguments.output.empty()) {
    json["output"]["file"] = arguments.output;
  }
  WriteJson(json, terminal);
}

void PrintText(const RunArguments& arguments, const RunResult& result, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, arguments.call.operator_name) << ' '
               << ShowTimes(result.info, result.round_trip) << '\n'
               << ShowExecution(result.info) << '\n';
  if (result.output.tensor) {
    PrintTensor(*result.output.tensor, terminal);
  } else {
    PrintSpec(result.output.spec, terminal);
  }
  if (!arguments.output.empty()) terminal.out << "written to " << arguments.output << '\n';
}

}  // namespace

int RunCommand(const RunArguments& arguments, const Terminal& terminal) {
  absl::StatusOr<FileCall> made = MakeCall(arguments.call);
  if (!made.ok()) return FailFile(terminal, arguments.json, made.status());
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());

  const std::string address = AddressOf(arguments);
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, arguments.call.operator_name, address, status,
                    arguments.call.inputs);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  const absl::Status completed = CompleteResidentInputs(**client, /*all=*/false, made->call);
  if (!completed.ok()) return fail(completed);
  RunResult result;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<SequenceResult> output = Send(**client, arguments, made->call, &result.info);
  result.round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  if (!output.ok()) return fail(output.status());
  result.output = *std::move(output);

  if (result.output.tensor && !arguments.output.empty()) {
    const absl::Status written = WriteTensorFile(arguments.output, *result.output.tensor, terminal);
    if (!written.ok()) return FailFile(terminal, arguments.json, written);
  }
  if (arguments.output == kStandardStream) return kSuccess;
  if (arguments.json) {
    PrintJson(arguments, result, terminal);
  } else {
    PrintText(arguments, result, terminal);
  }
  return kSuccess;
}

int RunCommand(const PackArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<FileCall> made = MakeCall(arguments.call);
  if (!made.ok()) return FailFile(terminal, /*json=*/false, made.status());
  const std::string request = client_internal::EncodeCall(made->call).SerializeAsString();
  const absl::Status written = WriteBytes(arguments.output_file, request, terminal);
  if (!written.ok()) return FailFile(terminal, /*json=*/false, written);
  if (arguments.output_file == kStandardStream) return kSuccess;
  terminal.out << arguments.output_file << ": a request of " << ShowCount(request.size())
               << " bytes\n";
  return kSuccess;
}

}  // namespace opserve::cli
