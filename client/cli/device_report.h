// File: client/cli/device_report.h
//
// Shows devices and their self-tests, to people and to programs. Stateless.

#ifndef OPSERVE_CLIENT_CLI_DEVICE_REPORT_H_
#define OPSERVE_CLIENT_CLI_DEVICE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/cli/terminal.h"
#include "opserve/devices.h"

namespace opserve::cli {

// "CPU", "GPU", or "GPU (software)".
std::string ShowKind(const DeviceInfo& device);

// The name of a state: green where the device takes requests as it should, red where it takes none.
Cell ShowState(DeviceInfo::State state);

// Tables with a row per device: its state and load, with a line below for each device that has a
// reason for its state; what it did; and the drivers of those that have one.
void PrintDevices(const std::vector<DeviceInfo>& devices, const Terminal& terminal);

// A table with a row per self-test, PASS or FAIL; below it, what went wrong.
void PrintSelfTests(const std::vector<SelfTestReport>& reports, const Terminal& terminal);

// Whether there was at least one test, and every one passed.
bool AllPassed(const std::vector<SelfTestReport>& reports);

// Everything that is known of the device or the test, under the names of the wire contract.
nlohmann::ordered_json ToJson(const DeviceInfo& device);
nlohmann::ordered_json ToJson(const SelfTestReport& report);

// An array of them; not null where there is none.
nlohmann::ordered_json ToJson(const std::vector<DeviceInfo>& devices);
nlohmann::ordered_json ToJson(const std::vector<SelfTestReport>& reports);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_DEVICE_REPORT_H_
