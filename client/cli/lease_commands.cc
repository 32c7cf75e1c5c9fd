// The verbs lease, leases and admin.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/leased_command.h"
#include "client/cli/report.h"
#include "client/wire/wire_tensors.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// How often a waiting lease's position is looked at.
constexpr absl::Duration kPositionInterval = absl::Milliseconds(200);

// Connects and has `work` done with the client; what fails is reported as `what`.
template <class Arguments, class Work>
int AtServer(const Arguments& arguments, bool json, const Terminal& terminal, const char* what,
             const Work& work) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, json, options.status());
  const std::string& address = arguments.server.address;
  const auto client = Client::Connect(address, *options);
  const absl::Status status = client.ok() ? work(**client) : client.status();
  if (status.ok()) return kSuccess;
  return FailCall(terminal, json, what, address, status);
}

// Waits for the grant, and tells the position on the way.
absl::StatusOr<DeviceGrant> WaitForGrant(const DeviceLease& lease, const Terminal& terminal) {
  uint32_t told = 0;
  const Call<DeviceGrant> grant = lease.grant();
  while (!grant.WaitFor(kPositionInterval)) {
    const uint32_t position = lease.position();
    if (position == told || position == 0) continue;
    terminal.err << "opserve: waiting for the GPU, position " << position << std::endl;
    told = position;
  }
  return grant.Wait();
}

Json AsJson(const DeviceLeaseInfo& lease) {
  return {{"number", lease.number},
          {"client", lease.client},
          {"label", lease.label},
          {"device", lease.device},
          {"held", lease.held},
          {"position", lease.position},
          {"age_ms", absl::ToInt64Milliseconds(lease.age)},
          {"left_ms", absl::ToInt64Milliseconds(lease.left)}};
}

// Names and labels are any text, also such as would move the cursor.
std::string Shown(const std::string& text) {
  return text.empty() ? "-" : absl::Utf8SafeCEscape(text);
}

std::string ShownTime(absl::Duration time) {
  return absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(100)));
}

void PrintLeases(const std::vector<DeviceLeaseInfo>& leases, const Terminal& terminal) {
  Table table({"NUMBER", "DEVICE", "STATE", "AGE", "LEFT", "CLIENT", "LABEL"});
  for (const DeviceLeaseInfo& lease : leases) {
    table.AddRow({absl::StrCat(lease.number), lease.device.empty() ? "any" : Shown(lease.device),
                  lease.held ? "HELD" : absl::StrCat("WAITING ", lease.position),
                  ShownTime(lease.age), lease.held ? ShownTime(lease.left) : "-",
                  Shown(lease.client), Shown(lease.label)});
  }
  if (!leases.empty()) table.Print(terminal);
  terminal.out << leases.size() << (leases.size() == 1 ? " lease" : " leases") << '\n';
}

// Tells that `what` is done, in the form that is wanted.
absl::Status Done(bool json, const Json& result, const std::string& what,
                  const Terminal& terminal) {
  if (json) {
    WriteJson(result, terminal);
  } else {
    terminal.out << what << '\n';
  }
  return absl::OkStatus();
}

}  // namespace

int RunCommand(const LeaseArguments& arguments, const Terminal& terminal) {
  int exit_code = kSuccess;
  const int failure =
      AtServer(arguments, /*json=*/false, terminal, "lease", [&](Client& client) -> absl::Status {
        const std::unique_ptr<DeviceLease> lease =
            client.LeaseDevice({.device = arguments.device == "gpu" ? "" : arguments.device,
                                .time = arguments.time,
                                .label = arguments.label});
        const absl::StatusOr<DeviceGrant> grant = WaitForGrant(*lease, terminal);
        if (!grant.ok()) return grant.status();
        if (!arguments.command.empty()) {
          const absl::StatusOr<int> ended =
              RunLeased(*lease, *grant, arguments.time, arguments.command, terminal);
          exit_code = ended.ok() ? *ended : FailFile(terminal, /*json=*/false, ended.status());
          return absl::OkStatus();
        }
        terminal.out << client_internal::kDeviceLeaseVariable << '=' << grant->id << std::endl;
        terminal.err << "opserve: " << grant->device << " is leased for " << ShownTime(grant->time)
                     << std::endl;
        const absl::Status end = lease->end().Wait();
        return absl::IsDeadlineExceeded(end) ? absl::OkStatus() : end;
      });
  return failure != kSuccess ? failure : exit_code;
}

int RunCommand(const LeasesArguments& arguments, const Terminal& terminal) {
  return AtServer(arguments, arguments.json, terminal, "leases",
                  [&](Client& client) -> absl::Status {
                    const auto leases = client.ListLeases();
                    if (!leases.ok()) return leases.status();
                    if (!arguments.json) {
                      PrintLeases(*leases, terminal);
                      return absl::OkStatus();
                    }
                    Json array = Json::array();
                    for (const DeviceLeaseInfo& lease : *leases) array.push_back(AsJson(lease));
                    WriteJson({{"leases", array}}, terminal);
                    return absl::OkStatus();
                  });
}

int RunCommand(const EndLeaseArguments& arguments, const Terminal& terminal) {
  return AtServer(arguments, arguments.json, terminal, "admin end-lease",
                  [&](Client& client) -> absl::Status {
                    absl::Status status = client.EndLease(arguments.number);
                    if (!status.ok()) return status;
                    return Done(arguments.json, {{"ended", arguments.number}},
                                absl::StrCat("lease ", arguments.number, " has ended"), terminal);
                  });
}

int RunCommand(const SetAsideArguments& arguments, const Terminal& terminal) {
  const char* const what = arguments.wait ? "admin drain" : "admin set-aside";
  return AtServer(arguments, arguments.json, terminal, what, [&](Client& client) -> absl::Status {
    absl::Status status = arguments.wait
                              ? client.DrainDevice(arguments.device, arguments.reason)
                              : client.SetDeviceAside(arguments.device, arguments.reason);
    if (!status.ok()) return status;
    return Done(
        arguments.json, {{"device", arguments.device}, {"idle", arguments.wait}},
        absl::StrCat(arguments.device,
                     arguments.wait ? " is set aside, and nothing runs on it" : " is set aside"),
        terminal);
  });
}

int RunCommand(const ResumeArguments& arguments, const Terminal& terminal) {
  return AtServer(arguments, arguments.json, terminal, "admin resume",
                  [&](Client& client) -> absl::Status {
                    absl::Status status = client.ResumeDevice(arguments.device);
                    if (!status.ok()) return status;
                    return Done(arguments.json, {{"device", arguments.device}},
                                absl::StrCat(arguments.device, " takes requests again"), terminal);
                  });
}

}  // namespace opserve::cli
