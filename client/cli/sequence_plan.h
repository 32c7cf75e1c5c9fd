// File: client/cli/sequence_plan.h
//
// From the steps of a document to a call of the client library. Stateless.

#ifndef OPSERVE_CLIENT_CLI_SEQUENCE_PLAN_H_
#define OPSERVE_CLIENT_CLI_SEQUENCE_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/arguments/arguments.h"
#include "client/cli/sequence_document.h"
#include "opserve/sequence.h"

namespace opserve::cli {

// A call, the tensors that its inputs view, and what its inputs and outputs are called.
struct PlannedSequence {
  std::vector<Tensor> tensors;
  OperatorSequence sequence;
  std::vector<std::string> inputs;   // per input: a file, or "tensor:HANDLE"
  std::vector<std::string> outputs;  // per output: a file, "tensor:HANDLE", or empty
};

// Reads the files, each once, and makes the call; there must be a step. Errors name the file. "-"
// is standard input or output; INVALID_ARGUMENT where the command has another use for that.
absl::StatusOr<PlannedSequence> PlanSequence(const std::vector<StepText>& steps,
                                             const SequenceArguments& arguments);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_SEQUENCE_PLAN_H_
