#include "client/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/exit_code.h"
#include "client/rpc/client_name.h"

namespace opserve::cli {
namespace {

constexpr char kExitCodes[] =
    "Exit codes:\n"
    "  0  success\n"
    "  1  the server refused or failed the call, or is not serving\n"
    "  2  the command line is wrong\n"
    "  3  no connection to the server\n"
    "  4  a file cannot be read, understood or written\n"
    "  5  a GPU failed its self-test, or there was no GPU to test\n";

// Adds an option whose text `parse` turns into a value: it returns a complaint, or nothing.
template <class Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, Parse parse,
                       const std::string& description) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, parse](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::string complaint = parse(text);
              if (!complaint.empty()) throw CLI::ValidationError(name, complaint);
            }
          },
          description)
      ->expected(1)
      ->take_last();
}

// Likewise, for an option that may be repeated.
template <class Parse>
CLI::Option* AddRepeated(CLI::App& app, const std::string& name, Parse parse,
                         const std::string& description) {
  return AddParsed(app, name, parse, description)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

auto ParseDuration(absl::Duration& duration) {
  return [&duration](const std::string& text) -> std::string {
    if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return "";
    return absl::StrCat("'", text, "' is no positive duration such as 500ms, 10s or 2m");
  };
}

// Parses "2x3" or "2,3".
auto ParseDimensions(Dimensions& dimensions) {
  return [&dimensions](const std::string& text) -> std::string {
    dimensions.clear();
    for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar(",x"))) {
      uint32_t value;
      if (!absl::SimpleAtoi(part, &value)) {
        return absl::StrCat("'", text, "' is no list of numbers such as 2,3 or 2x3");
      }
      dimensions.push_back(value);
    }
    return "";
  };
}

// Appends to a list with one entry per input; "-" leaves an input as it is in its file.
auto AppendDimensions(std::vector<Dimensions>& list) {
  return [&list](const std::string& text) -> std::string {
    Dimensions& dimensions = list.emplace_back();
    return text == "-" ? "" : ParseDimensions(dimensions)(text);
  };
}

// Appends "Name=Value"; the value is an integer, a float, or else the name of an enum value.
auto AppendAttribute(std::vector<Attribute>& attributes) {
  return [&attributes](const std::string& text) -> std::string {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const auto& [name, value] = parts;
    if (name.empty() || value.empty()) {
      return absl::StrCat("'", text, "' is not Name=Value, such as RoundingMode=TOWARD_ZERO");
    }
    int64_t integer;
    double number;
    if (absl::SimpleAtoi(value, &integer)) {
      attributes.push_back({name, integer});
    } else if (absl::SimpleAtod(value, &number)) {
      attributes.push_back({name, number});
    } else {
      attributes.push_back({name, value});
    }
    return "";
  };
}

auto ParseType(DataType& type) {
  return [&type](const std::string& text) -> std::string {
    const std::optional<DataType> found = DataTypeFromName(text);
    if (found) type = *found;
    if (found) return "";
    std::string names;
    for (DataType known : kAllDataTypes) absl::StrAppend(&names, " ", std::string(NameOf(known)));
    return absl::StrCat("'", text, "' is none of:", names);
  };
}

auto ParseClientName(std::string& name) {
  return [&name](const std::string& text) -> std::string {
    const absl::Status checked = client_internal::CheckClientName(text);
    if (checked.ok()) name = text;
    return std::string(checked.message());
  };
}

// Parses one of a few names; "gpu" and "GPU" are the same.
template <class Enum>
auto ParseName(std::vector<Enum> values, Enum& chosen) {
  return [values = std::move(values), &chosen](const std::string& text) -> std::string {
    std::string names;
    for (Enum value : values) {
      if (absl::EqualsIgnoreCase(NameOf(value), text)) {
        chosen = value;
        return "";
      }
      absl::StrAppend(&names, names.empty() ? "" : ", ", absl::AsciiStrToLower(NameOf(value)));
    }
    return absl::StrCat("'", text, "' is none of: ", names);
  };
}

void AddServer(CLI::App& app, ServerArguments& server) {
  app.add_option("--address", server.address, "Server, host:port or unix:/path")
      ->envname("OPSERVE_ADDRESS")
      ->capture_default_str();
  AddParsed(app, "--timeout", ParseDuration(server.timeout),
            "Longest time for a call, retries included, such as 500ms or 10s [60s]");
  app.add_flag("--tls", server.tls, "Encrypt, and trust the system's authorities");
  app.add_option("--tls-ca", server.tls_ca_file, "Encrypt, and trust the authorities in this file");
  app.add_option("--token", server.token, "Bearer token; better set in the environment")
      ->envname("OPSERVE_TOKEN");
  AddParsed(app, "--client-name", ParseClientName(server.client_name),
            "Name of this client, by which the server shares itself out fairly; no credential");
}

// How and where calls run; for arguments of any verb that makes them.
template <class Arguments>
void AddPlacement(CLI::App& app, Arguments& arguments) {
  AddParsed(app, "--device",
            ParseName({DevicePreference::kAuto, DevicePreference::kGpu, DevicePreference::kCpu},
                      arguments.device),
            "Where to run: auto, gpu or cpu [as the server was told]");
  AddParsed(app, "--priority",
            ParseName({CallPriority::kLow, CallPriority::kNormal, CallPriority::kHigh},
                      arguments.priority),
            "Among calls that wait: low, normal or high [normal]");
  app.add_flag("--verify", arguments.verify,
               "Have a GPU's result compared with the CPU's before it is sent");
}

void AddAttributes(CLI::App& app, std::vector<Attribute>& attributes) {
  AddRepeated(app, "--attr", AppendAttribute(attributes),
              "Attribute as Name=Value, such as RoundingMode=TOWARD_ZERO; repeat for more");
}

void AddCall(CLI::App& app, CallArguments& call) {
  app.add_option("OPERATOR", call.operator_name, "Operator, as listed by `opserve operators`")
      ->required();
  AddAttributes(app, call.attributes);
  app.add_option("--input", call.input_files, ".npy file of an input, in the operator's order")
      ->required()
      ->allow_extra_args(false);
  AddRepeated(
      app, "--sizes", AppendDimensions(call.sizes),
      "Sizes of an input instead of its file's, such as 2,3; one per input in order, - keeps "
      "the file's");
  AddRepeated(app, "--strides", AppendDimensions(call.strides),
              "Strides of an input in elements, such as 3,1 (0 repeats); one per input in order, - "
              "keeps the file's");
  AddParsed(app, "--output-strides", ParseDimensions(call.output_strides),
            "Strides of the output in elements");
  app.add_option("--feature-level", call.feature_level,
                 "Feature level to validate against, such as 3_0 [the highest]");
  AddPlacement(app, call);
  app.add_option("--request-id", call.request_id, "Text for the server's logs");
}

void AddJson(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print one JSON object for programs to read");
}

// The values of all verbs; the chosen one becomes the Command.
struct Parsed {
  RunArguments run;
  OperatorsArguments operators;
  InfoArguments info;
  DevicesArguments devices;
  HealthArguments health;
  BenchArguments bench;
  PackArguments pack;
};

CLI::App* AddRun(CLI::App& app, RunArguments& run) {
  CLI::App* verb = app.add_subcommand("run", "Run an operator on .npy files");
  AddCall(*verb, run.call);
  verb->add_option("--output", run.output_file, ".npy file to write the result to");
  AddServer(*verb, run.server);
  AddJson(*verb, run.json);
  return verb;
}

CLI::App* AddOperators(CLI::App& app, OperatorsArguments& operators) {
  CLI::App* verb = app.add_subcommand("operators", "List the operators, or explain one");
  verb->add_option("NAME", operators.name, "Operator to explain");
  verb->add_option("--feature-level", operators.feature_level,
                   "Show only what this feature level offers, such as 3_0");
  AddServer(*verb, operators.server);
  AddJson(*verb, operators.json);
  return verb;
}

CLI::App* AddInfo(CLI::App& app, InfoArguments& info) {
  CLI::App* verb = app.add_subcommand("info", "Tell version, devices and limits of the server");
  AddServer(*verb, info.server);
  AddJson(*verb, info.json);
  return verb;
}

CLI::App* AddDevices(CLI::App& app, DevicesArguments& devices) {
  CLI::App* verb = app.add_subcommand("devices", "Show the devices: state, load, faults");
  verb->add_option("NAME", devices.name, "Only this device");
  verb->add_flag("--self-test", devices.self_test,
                 "Test the GPUs with known answers, while they serve; exit code 5 if one fails");
  AddServer(*verb, devices.server);
  AddJson(*verb, devices.json);
  return verb;
}

CLI::App* AddHealth(CLI::App& app, HealthArguments& health) {
  CLI::App* verb = app.add_subcommand("health", "Tell whether the server is serving");
  verb->add_option("--service", health.service, "Service to ask about [the whole server]");
  AddServer(*verb, health.server);
  AddJson(*verb, health.json);
  return verb;
}

CLI::App* AddBench(CLI::App& app, BenchArguments& bench) {
  CLI::App* verb = app.add_subcommand("bench", "Measure throughput and latency of a server");
  verb->add_option("OPERATOR", bench.operator_name, "Operator")->capture_default_str();
  AddAttributes(*verb, bench.attributes);
  AddParsed(*verb, "--shape", ParseDimensions(bench.shape),
            "Sizes of every tensor, such as 1024x1024 [256x256]");
  AddParsed(*verb, "--type", ParseType(bench.type), "Element type, such as FLOAT16 [FLOAT32]");
  AddPlacement(*verb, bench);
  AddParsed(*verb, "--duration", ParseDuration(bench.duration), "How long to measure [10s]");
  verb->add_option("--concurrency", bench.concurrency, "Most calls in flight")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb->add_option("--channels", bench.channels, "Connections to the server")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb->add_flag("--stream", bench.stream,
                 "Send the calls over one stream per connection, see ExecuteStream");
  verb->add_option("--rate", bench.rate,
                   "Start calls at this rate per second, whether or not answers come, and count "
                   "latency from the planned start [as fast as answers come]")
      ->check(CLI::Range(0.001, 1e7));
  AddServer(*verb, bench.server);
  AddJson(*verb, bench.json);
  return verb;
}

CLI::App* AddPack(CLI::App& app, PackArguments& pack) {
  CLI::App* verb =
      app.add_subcommand("pack", "Write a request made from .npy files, for ghz --binary-file");
  AddCall(*verb, pack.call);
  verb->add_option("--output", pack.output_file, "File to write")->required();
  return verb;
}

}  // namespace

std::variant<Command, int> ParseArguments(const std::vector<std::string>& arguments,
                                          std::ostream& out, std::ostream& err) {
  Parsed parsed;
  CLI::App app("Run DirectML operators on an opserve server.", "opserve");
  app.footer(kExitCodes);
  app.set_version_flag("--version", "opserve " OPSERVE_VERSION);
  app.require_subcommand(1);
  const CLI::App* run = AddRun(app, parsed.run);
  const CLI::App* operators = AddOperators(app, parsed.operators);
  const CLI::App* info = AddInfo(app, parsed.info);
  const CLI::App* devices = AddDevices(app, parsed.devices);
  const CLI::App* health = AddHealth(app, parsed.health);
  const CLI::App* bench = AddBench(app, parsed.bench);
  AddPack(app, parsed.pack);
  try {
    // CLI11 takes the arguments in reverse.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) {
    return app.exit(success, out, err);
  } catch (const CLI::ParseError& error) {
    // CLI11 would only say that a verb is missing.
    const bool unknown = app.get_subcommands().empty() && !arguments.empty();
    if (unknown) err << "opserve: unknown: " << arguments[0] << ". ";
    app.exit(error, out, err);
    return kUsage;
  }
  if (run->parsed()) return parsed.run;
  if (operators->parsed()) return parsed.operators;
  if (info->parsed()) return parsed.info;
  if (devices->parsed()) return parsed.devices;
  if (health->parsed()) return parsed.health;
  if (bench->parsed()) return parsed.bench;
  return parsed.pack;
}

}  // namespace opserve::cli
