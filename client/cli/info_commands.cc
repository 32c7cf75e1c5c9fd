// The verbs about the server itself: info and health.

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/api/npy.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/device_report.h"
#include "client/cli/report.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a limit counts.
enum class LimitUnit { kThings, kBytes, kSeconds };

// The limits with the names of the wire contract.
struct LimitRow {
  const char* name;
  const char* meaning;
  uint64_t value;
  LimitUnit unit = LimitUnit::kThings;
};

uint64_t SecondsOf(absl::Duration time) {
  return static_cast<uint64_t>(absl::ToInt64Seconds(time));
}

std::string Show(const LimitRow& row) {
  switch (row.unit) {
    case LimitUnit::kBytes:
      return ShowBytes(static_cast<double>(row.value));
    case LimitUnit::kSeconds:
      return absl::FormatDuration(absl::Seconds(row.value));
    case LimitUnit::kThings:
      break;
  }
  return ShowCount(row.value);
}

std::vector<LimitRow> RowsOf(const ServerLimits& limits) {
  constexpr LimitUnit kBytes = LimitUnit::kBytes;
  constexpr LimitUnit kSeconds = LimitUnit::kSeconds;
  return {
      {"max_dimension_count", "dimensions of a tensor", limits.max_dimension_count},
      {"max_elements", "elements of a tensor", limits.max_elements},
      {"max_tensor_bytes", "bytes of a tensor", limits.max_tensor_bytes, kBytes},
      {"max_request_id_bytes", "bytes of a request id", limits.max_request_id_bytes, kBytes},
      {"max_message_bytes", "bytes of a message", limits.max_message_bytes, kBytes},
      {"max_concurrent_requests", "requests in progress", limits.max_concurrent_requests},
      {"max_queued_bytes", "bytes of tensors in progress", limits.max_queued_bytes, kBytes},
      {"max_batch_requests", "requests of a batch", limits.max_batch_requests},
      {"max_batch_bytes", "bytes of tensors of a batch", limits.max_batch_bytes, kBytes},
      {"max_resident_bytes_per_client", "bytes of resident tensors of a client",
       limits.max_resident_bytes_per_client, kBytes},
      {"max_resident_bytes", "bytes of resident tensors", limits.max_resident_bytes, kBytes},
      {"max_lease_s", "lease of a resident tensor", SecondsOf(limits.max_lease), kSeconds},
      {"max_sequence_steps", "steps of a sequence", limits.max_sequence_steps},
      {"max_stream_bytes", "bytes of tensors of a stream", limits.max_stream_bytes, kBytes},
      {"max_device_lease_s", "lease of a GPU, renewals included",
       SecondsOf(limits.max_device_lease), kSeconds},
      {"max_device_leases_per_client", "leases of GPUs of a client",
       limits.max_device_leases_per_client},
  };
}

void PrintJson(const ServerInfo& info, const Terminal& terminal) {
  Json limits = Json::object();
  for (const LimitRow& row : RowsOf(info.limits)) limits[row.name] = row.value;
  WriteJson({{"version", info.version},
             {"feature_level", info.feature_level},
             {"uptime_s", absl::ToInt64Seconds(info.uptime)},
             {"devices", ToJson(info.devices)},
             {"limits", limits}},
            terminal);
}

void PrintText(const ServerInfo& info, const std::string& address, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, absl::StrCat("opserve-server ", info.version))
               << " at " << address << ", up " << absl::FormatDuration(info.uptime)
               << ", feature level " << info.feature_level << "\n\n";
  Table devices({"device", "kind", "state", "threads", "description"});
  for (const DeviceInfo& device : info.devices) {
    devices.AddRow({device.name, ShowKind(device), ShowState(device.state),
                    device.threads == 0 ? "-" : absl::StrCat(device.threads), device.description});
  }
  devices.Print(terminal);
  terminal.out << '\n';
  Table limits({"at most", ""});
  for (const LimitRow& row : RowsOf(info.limits)) {
    // An older server does not tell the newer limits; where no GPU can be leased there is none.
    if (row.value == 0) continue;
    limits.AddRow({row.meaning, Show(row)});
  }
  limits.Print(terminal);
}

const char* NameOfHealth(HealthStatus health) {
  switch (health) {
    case HealthStatus::kServing:
      return "SERVING";
    case HealthStatus::kNotServing:
      return "NOT_SERVING";
    case HealthStatus::kUnknown:
      break;
  }
  return "UNKNOWN";
}

// Where to ask: a server that listens at all addresses of the machine is asked by way of loopback.
absl::StatusOr<std::string> AddressOf(const HealthArguments& arguments) {
  if (arguments.ready_file.empty()) return arguments.server.address;
  const absl::StatusOr<std::string> text = ReadFile(arguments.ready_file);
  if (!text.ok()) return text.status();
  const std::string address = text->substr(0, text->find('\n'));
  if (address.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(arguments.ready_file, " holds no address"));
  }
  absl::string_view port = address;
  // At [::] it takes connections of IPv4 as well.
  if (absl::ConsumePrefix(&port, "0.0.0.0:") || absl::ConsumePrefix(&port, "[::]:")) {
    return absl::StrCat("127.0.0.1:", port);
  }
  return address;
}

}  // namespace

int RunCommand(const InfoArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  const std::string& address = arguments.server.address;
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return FailCall(terminal, arguments.json, "info", address, client.status());
  const absl::StatusOr<ServerInfo> info = (*client)->GetServerInfo();
  if (!info.ok()) return FailCall(terminal, arguments.json, "info", address, info.status());
  if (arguments.json) {
    PrintJson(*info, terminal);
  } else {
    PrintText(*info, address, terminal);
  }
  return kSuccess;
}

int RunCommand(const HealthArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  const absl::StatusOr<std::string> found = AddressOf(arguments);
  if (!found.ok()) return FailFile(terminal, arguments.json, found.status());
  const std::string& address = *found;
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return FailCall(terminal, arguments.json, "health", address, client.status());
  const absl::StatusOr<HealthStatus> health = (*client)->CheckHealth(arguments.service);
  if (!health.ok()) return FailCall(terminal, arguments.json, "health", address, health.status());

  const bool serving = *health == HealthStatus::kServing;
  const char* name = NameOfHealth(*health);
  if (arguments.json) {
    WriteJson({{"status", name}, {"service", arguments.service}}, terminal);
  } else {
    terminal.out << terminal.Styled(serving ? Style::kGreen : Style::kRed, name) << '\n';
  }
  return serving ? kSuccess : kCallFailed;
}

}  // namespace opserve::cli
