// File: client/cli/shared_run.h
//
// A call whose tensors pass through memory shared with the server. Stateless.

#ifndef OPSERVE_CLIENT_CLI_SHARED_RUN_H_
#define OPSERVE_CLIENT_CLI_SHARED_RUN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "opserve/client.h"

namespace opserve::cli {

// Runs `call` with its inputs in a region made for it, and its result there too unless it goes to
// `output`. FAILED_PRECONDITION where the server shares no memory with this machine.
absl::StatusOr<SequenceResult> ExecuteShared(Client& client, OperatorCall call,
                                             const std::optional<TensorHandle>& output,
                                             ExecutionInfo* info);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_SHARED_RUN_H_
