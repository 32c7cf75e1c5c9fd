// The verbs that make a call from files: run, and pack, which only writes the request.

#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/decimal.h"
#include "client/cli/report.h"
#include "client/cli/run_report.h"
#include "client/cli/summary.h"
#include "client/wire/wire.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFirstValues = 8;

// JSON has no infinities and NaNs; they become strings that most languages parse as floats.
Json ElementAsJson(const Element& element) {
  const double* number = std::get_if<double>(&element);
  if (number == nullptr) return std::visit([](auto value) { return Json(value); }, element);
  if (std::isnan(*number)) return "NaN";
  if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
  return *number;
}

Json FirstValues(const Tensor& packed) {
  Json values = Json::array();
  const uint64_t count = packed.bytes().size() / SizeOf(packed.data_type());
  for (uint64_t i = 0; i < std::min(count, kFirstValues); ++i) {
    values.push_back(ElementAsJson(ElementAt(packed, i)));
  }
  return values;
}

void PrintJson(const RunArguments& arguments, const Tensor& output, const ExecutionInfo& info,
               absl::Duration round_trip, const Terminal& terminal) {
  Json result = {{"operator", arguments.call.operator_name}};
  result.update(ToJson(info, round_trip));
  result["output"] = {{"data_type", std::string(NameOf(output.data_type()))},
                      {"sizes", output.sizes()},
                      {"strides", output.spec().strides},
                      {"bytes", output.bytes().size()},
                      {"first_values", FirstValues(output.Packed())}};
  if (!arguments.output_file.empty()) result["output"]["file"] = arguments.output_file;
  terminal.out << result.dump(2) << '\n';
}

void PrintText(const RunArguments& arguments, const Tensor& output, const ExecutionInfo& info,
               absl::Duration round_trip, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, arguments.call.operator_name) << ' '
               << ShowTimes(info, round_trip) << '\n'
               << ShowExecution(info) << '\n'
               << terminal.Styled(Style::kBold, ToString(output.spec())) << ", "
               << ShowBytes(static_cast<double>(output.bytes().size())) << '\n'
               << Summarize(output) << '\n';
  if (!arguments.output_file.empty())
    terminal.out << "written to " << arguments.output_file << '\n';
}

}  // namespace

int RunCommand(const RunArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<FileCall> made = MakeCall(arguments.call);
  if (!made.ok()) return FailFile(terminal, arguments.json, made.status());
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());

  const std::string& address = arguments.server.address;
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, arguments.call.operator_name, address, status,
                    arguments.call.input_files);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  ExecutionInfo info;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Tensor> output = (*client)->Execute(made->call, {}, &info);
  const absl::Duration round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  if (!output.ok()) return fail(output.status());

  if (!arguments.output_file.empty()) {
    const absl::Status written = WriteNpy(arguments.output_file, *output);
    if (!written.ok()) return FailFile(terminal, arguments.json, written);
  }
  const auto print = arguments.json ? PrintJson : PrintText;
  print(arguments, *output, info, round_trip, terminal);
  return kSuccess;
}

int RunCommand(const PackArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<FileCall> made = MakeCall(arguments.call);
  if (!made.ok()) return FailFile(terminal, /*json=*/false, made.status());
  const std::string request = client_internal::EncodeCall(made->call).SerializeAsString();
  const absl::Status written = WriteFile(arguments.output_file, request);
  if (!written.ok()) return FailFile(terminal, /*json=*/false, written);
  terminal.out << arguments.output_file << ": a request of " << ShowCount(request.size())
               << " bytes\n";
  return kSuccess;
}

}  // namespace opserve::cli
