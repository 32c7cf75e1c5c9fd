#include "client/cli/arguments/common.h"

#include "client/cli/arguments/values.h"

namespace opserve::cli {

void AddServer(Verb verb, ServerArguments& server) {
  verb.AddOption("--address", "ADDRESS", TakeAny(server.address), "Server, host:port or unix:/path",
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
  verb.AddOption("--device", NamesOf(devices, "|"), TakeName(devices, device),
                 "Where to run [as the server was told]");
  verb.AddOption("--priority", NamesOf(priorities, "|"), TakeName(priorities, priority),
                 "Among calls that wait", {.default_value = "normal"});
  verb.AddFlag("--verify", verify, "Have a GPU's result compared with the CPU's before it is sent");
}

void AddCallLabels(Verb verb, std::string& feature_level, std::string& request_id) {
  verb.AddOption("--feature-level", "LEVEL", TakeAny(feature_level),
                 "Feature level to validate against, such as 3_0 [the highest]");
  verb.AddOption("--request-id", "TEXT", TakeAny(request_id), "Text for the server's logs");
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
