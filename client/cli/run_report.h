// File: client/cli/run_report.h
//
// Shows how a call was run, to people and to programs. Stateless.

#ifndef OPSERVE_CLIENT_CLI_RUN_REPORT_H_
#define OPSERVE_CLIENT_CLI_RUN_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"
#include "opserve/client.h"

namespace opserve::cli {

// One line: "device: cpu/AVX3, batch of 1, 1 attempt, not verified".
std::string ShowExecution(const ExecutionInfo& info);

// One line: "ran for 1.50 ms, queued for 20.0 us, round trip 2.10 ms".
std::string ShowTimes(const ExecutionInfo& info, absl::Duration round_trip);

// An object with the names of the wire contract, and round_trip_ns and sends.
nlohmann::ordered_json ToJson(const ExecutionInfo& info, absl::Duration round_trip);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_RUN_REPORT_H_
