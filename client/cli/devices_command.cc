// The verb devices: a table of them, or their self-tests.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/device_report.h"
#include "client/cli/report.h"

namespace opserve::cli {
namespace {

// The devices called `name`, or all if that is empty. NOT_FOUND with the names that there are.
absl::StatusOr<std::vector<DeviceInfo>> Select(const std::vector<DeviceInfo>& devices,
                                               const std::string& name) {
  std::vector<DeviceInfo> selected;
  for (const DeviceInfo& device : devices) {
    if (name.empty() || device.name == name) selected.push_back(device);
  }
  if (!selected.empty() || name.empty()) return selected;
  const auto name_of = [](std::string* text, const DeviceInfo& device) {
    text->append(device.name);
  };
  return absl::NotFoundError(absl::StrCat("the server has no device '", name,
                                          "'; it has: ", absl::StrJoin(devices, ", ", name_of)));
}

void ShowDevices(const DevicesArguments& arguments, const std::vector<DeviceInfo>& devices,
                 const Terminal& terminal) {
  if (arguments.json) {
    WriteJson({{"devices", ToJson(devices)}}, terminal);
  } else {
    PrintDevices(devices, terminal);
  }
}

int ShowSelfTests(const DevicesArguments& arguments, const std::vector<SelfTestReport>& reports,
                  const Terminal& terminal) {
  const bool passed = AllPassed(reports);
  if (arguments.json) {
    WriteJson({{"passed", passed}, {"results", ToJson(reports)}}, terminal);
  } else if (!reports.empty()) {
    PrintSelfTests(reports, terminal);
  }
  if (reports.empty()) {
    terminal.err << "opserve: nothing to test: "
                 << (arguments.name.empty()
                         ? absl::StrCat("the server at ", arguments.server.address, " has no GPU")
                         : absl::StrCat(arguments.name, " is no GPU"))
                 << '\n';
  }
  return passed ? kSuccess : kTestFailed;
}

bool IsGpu(const DeviceInfo& device) { return device.kind == DeviceInfo::Kind::kGpu; }

}  // namespace

int RunCommand(const DevicesArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  const std::string& address = arguments.server.address;
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, "devices", address, status);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  const absl::StatusOr<ServerInfo> info = (*client)->GetServerInfo();
  if (!info.ok()) return fail(info.status());
  const auto devices = Select(info->devices, arguments.name);
  if (!devices.ok()) return fail(devices.status());
  if (!arguments.self_test) {
    ShowDevices(arguments, *devices, terminal);
    return kSuccess;
  }

  absl::StatusOr<std::vector<SelfTestReport>> reports = std::vector<SelfTestReport>();
  if (std::any_of(devices->begin(), devices->end(), IsGpu)) {
    reports = (*client)->SelfTestDevices(arguments.name);
  }
  if (!reports.ok()) return fail(reports.status());
  return ShowSelfTests(arguments, *reports, terminal);
}

}  // namespace opserve::cli
