// File: client/cli/calls.h
//
// From arguments to the client library: connections, and calls on tensors from files and at the
// server. Stateless.

#ifndef OPSERVE_CLIENT_CLI_CALLS_H_
#define OPSERVE_CLIENT_CLI_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/arguments/arguments.h"
#include "opserve/client.h"

namespace opserve::cli {

// The options of a client, with what the files hold that they name. Errors name a file.
absl::StatusOr<ClientOptions> MakeClientOptions(const ServerArguments& arguments);

// Where a command about these tensors connects to: where `target` lists several hosts, and one of
// them has all of the tensors, to that one alone, which may then be asked for lists.
std::string AddressFor(const std::string& target, const std::vector<TensorHandle>& tensors);

// The tensors at the server among `inputs`: files, and "tensor:HANDLE".
std::vector<TensorHandle> HandlesAmong(const std::vector<std::string>& inputs);

// A call and the tensors from files that its inputs view.
struct FileCall {
  std::vector<Tensor> tensors;
  OperatorCall call;
};

// What a call asks of its result; nothing where the type is kUnknown and no strides are given.
std::optional<TensorSpec> WantedOutput(DataType type, const Dimensions& strides);

// Reads the input files and makes the call that `arguments` describe. An input with sizes or
// strides of its own takes the bytes of its file as they are. Errors name the file. The type of a
// resident input is not known here: see CompleteResidentInputs.
absl::StatusOr<FileCall> MakeCall(const CallArguments& arguments);

// Fills in the types of resident inputs that have sizes of their own, and with `all` what the
// others leave out. Asks the server only where there is such an input.
absl::Status CompleteResidentInputs(Client& client, bool all, OperatorCall& call);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CALLS_H_
