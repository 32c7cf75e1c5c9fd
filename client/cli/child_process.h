// File: client/cli/child_process.h
//
// A command that runs under this one. Thread-safe.

#ifndef OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_
#define OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace opserve::cli {

// Runs `command`, found like a shell finds it, with this process's environment, standard streams
// and `variable` (NAME=VALUE), and waits for its end. Its exit code; 128 and the number of the
// signal that ended it. NOT_FOUND where it cannot be started.
absl::StatusOr<int> RunChild(const std::vector<std::string>& command, const std::string& variable);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_
