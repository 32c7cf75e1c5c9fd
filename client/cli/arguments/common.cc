#include "client/cli/arguments/common.h"

#include <algorithm>

#include "client/cli/arguments/values.h"

namespace opserve::cli {

void AddServer(Verb verb, ServerArguments& server) {
  verb.AddOption("--address", "ADDRESS", TakeAny(server.address),
                 "Server, host:port or unix:/path; several with commas between",
                 {.default_value = server.address, .environment = "OPSERVE_ADDRESS"});
  verb.AddOption("--timeout", "DURATION", TakeDuration(server.timeout),
                 "Longest time for a call, retries included, such as 500ms or 10s",
                 {.default_value = "60s"});
  verb.AddFlag("--tls", server.tls, "Encrypt, and trust the system's authorities");
  verb.AddOption("--tls-ca", "FILE", TakeAny(server.tls_ca_file),
                 "Encrypt, and trust the authorities in this file",
                 {.environment = "OPSERVE_TLS_CA"});
  verb.AddOption("--tls-server-name", "NAME", TakeAny(server.tls_server_name),
                 "Encrypt, and expect a certificate for this name [the host of the address]",
                 {.environment = "OPSERVE_TLS_SERVER_NAME"});
  verb.AddOption("--tls-certificate", "FILE", TakeAny(server.tls_certificate_file),
                 "Encrypt, and show this certificate to the server; needs --tls-key",
                 {.environment = "OPSERVE_TLS_CERTIFICATE"});
  verb.AddOption("--tls-key", "FILE", TakeAny(server.tls_key_file),
                 "Private key of --tls-certificate, without a password",
                 {.environment = "OPSERVE_TLS_KEY"});
  verb.AddOption("--token", "TEXT", TakeAny(server.token),
                 "Bearer token, which other users see here; better in a file or the environment",
                 {.environment = "OPSERVE_TOKEN"});
  verb.AddOption("--token-file", "FILE", TakeAny(server.token_file),
                 "File with the bearer token; wins over --token",
                 {.environment = "OPSERVE_TOKEN_FILE"});
  verb.AddOption("--client-name", "TEXT", TakeClientName(server.client_name),
                 "Name of this client, by which the server shares itself out fairly, and to which "
                 "resident tensors belong; no credential");
}

void AddAttributes(Verb verb, std::vector<Attribute>& attributes) {
  verb.AddOption("--attr", "NAME=VALUE", AppendAttribute(attributes),
                 "Attribute, such as RoundingMode=TOWARD_ZERO", {.repeated = true});
}

void AddPlacement(Verb verb, DevicePreference& device, CallPriority& priority, bool& verify) {
  const std::vector devices = {DevicePreference::kAuto, DevicePreference::kGpu,
                               DevicePreference::kCpu};
  const std::vector priorities = {CallPriority::kLow, CallPriority::kNormal, CallPriority::kHigh};
  const bool is_open = device == DevicePreference::kDefault;
  verb.AddOption("--device", NamesOf(devices, "|"), TakeName(devices, device),
                 is_open ? "Where to run [as the server was told]" : "Where to run",
                 {.default_value = is_open ? "" : absl::AsciiStrToLower(NameOf(device))});
  verb.AddOption("--priority", NamesOf(priorities, "|"), TakeName(priorities, priority),
                 "Among calls that wait", {.default_value = "normal"});
  verb.AddFlag("--verify", verify, "Have a GPU's result compared with the CPU's before it is sent");
}

void AddCallLabels(Verb verb, std::string& feature_level, std::string& request_id) {
  verb.AddOption("--feature-level", "LEVEL", TakeUtf8(feature_level),
                 "Feature level to validate against, such as 3_0 [the highest]");
  verb.AddOption("--request-id", "TEXT", TakeUtf8(request_id), "Text for the server's logs");
}

void AddCall(Verb verb, CallArguments& call) {
  verb.AddOption("OPERATOR", "OPERATOR", TakeUtf8(call.operator_name),
                 "Operator, as listed by `opserve operators`", {.required = true});
  AddAttributes(verb, call.attributes);
  verb.AddOption("--input", "FILE", AppendNamed(call.inputs, call.input_names),
                 "Input, in the operator's order: a .npy file, - for standard input, or "
                 "tensor:HANDLE for a tensor at the server, see `opserve tensor`; or NAME=FILE for "
                 "each, in any order, which "
                 "can leave out optional ones (write ./a=b.npy for a file with such a name)",
                 {.required = true, .repeated = true});
  verb.AddOption("--sizes", "SIZES", AppendDimensions(call.sizes),
                 "Sizes of an input instead of its own, such as 2,3; one per input in order, - "
                 "keeps its own",
                 {.repeated = true});
  verb.AddOption(
      "--strides", "STRIDES", AppendDimensions(call.strides),
      "Strides of an input in elements, such as 3,1 (0 repeats); one per input in order, "
      "- keeps its own",
      {.repeated = true});
  verb.AddOption("--output-strides", "STRIDES", TakeDimensions(call.output_strides),
                 "Strides of the output in elements");
  verb.AddOption("--output-type", TypeChoices(), TakeType(call.output_type),
                 "Element type of the output, where the inputs leave it open [the smallest]");
  AddCallLabels(verb, call.feature_level, call.request_id);
  AddPlacement(verb, call.device, call.priority, call.verify);
}

std::string CheckCall(const CallArguments& call) {
  const size_t inputs = call.inputs.size();
  const auto surplus = [inputs](const char* option, size_t given) -> std::string {
    if (given <= inputs) return "";
    return absl::StrCat(option, " is given ", given, " times, but there ",
                        inputs == 1 ? "is 1 input" : absl::StrCat("are ", inputs, " inputs"));
  };
  std::string complaint = surplus("--sizes", call.sizes.size());
  if (complaint.empty()) complaint = surplus("--strides", call.strides.size());
  if (complaint.empty()) complaint = CheckInputFiles(call.inputs);
  return complaint;
}

std::string CheckInputFiles(const std::vector<std::string>& files) {
  if (std::ranges::count(files, kStandardStream) <= 1) return "";
  return "standard input (-) can be read only once";
}

std::string CheckOutputFile(const std::string& output, bool json) {
  if (output != kStandardStream || !json) return "";
  return "--json and --output - both write to standard output";
}

void AddJson(Verb verb, bool& json) {
  verb.AddFlag("--json", json, "Print one JSON object for programs to read");
}

std::string TypeChoices() {
  std::string names;
  for (DataType type : kAllDataTypes) {
    absl::StrAppend(&names, names.empty() ? "" : "|", std::string(NameOf(type)));
  }
  return names;
}

}  // namespace opserve::cli
