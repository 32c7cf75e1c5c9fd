// File: client/cli/leased_command.h
//
// A command that runs while a GPU is leased for it.

#ifndef OPSERVE_CLIENT_CLI_LEASED_COMMAND_H_
#define OPSERVE_CLIENT_CLI_LEASED_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/terminal.h"
#include "opserve/device_lease.h"

namespace opserve::cli {

// Runs `command` with the lease in its environment, and renews the lease for `time` (0: a minute)
// whenever a third of it has passed, until the command ends. Returns the command's exit code.
//
// SIGTERM and SIGHUP go on to the command, and SIGINT and SIGQUIT, which terminals send to both,
// are left to it: the lease lasts until the command has ended.
//
// A lease that ends before it is told on `terminal`, the command is sent SIGTERM, and once it has
// ended kLeaseEnded is returned. A lease that the server renews no further is told as well, while
// there still is time. NOT_FOUND where the command cannot be started. Blocks; thread-safe.
absl::StatusOr<int> RunLeased(DeviceLease& lease, const DeviceGrant& grant, absl::Duration time,
                              const std::vector<std::string>& command, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_LEASED_COMMAND_H_
