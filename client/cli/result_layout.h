// File: client/cli/result_layout.h
//
// What the result of a call will be, from the catalogue. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_RESULT_LAYOUT_H_
#define OPSERVE_CLIENT_CLI_RESULT_LAYOUT_H_

#include "absl/status/statusor.h"
#include "opserve/call.h"
#include "opserve/catalogue.h"

namespace opserve::cli {

// Type and layout of the result of `call`, whose operator is `op` and whose inputs tell their types
// and sizes. INVALID_ARGUMENT where the number of inputs is not the operator's, FAILED_PRECONDITION
// where the catalogue does not tell.
absl::StatusOr<TensorSpec> ResultLayout(const OperatorInfo& op, const OperatorCall& call);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_RESULT_LAYOUT_H_
