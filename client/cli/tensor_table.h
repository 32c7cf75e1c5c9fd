// File: client/cli/tensor_table.h
//
// Shows the resident tensors of a client as a table that fits a terminal. Stateless.

#ifndef OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_
#define OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_

#include "client/cli/terminal.h"
#include "opserve/resident.h"

namespace opserve::cli {

// One row per tensor, at most 80 columns wide: where that is not enough, the widest columns but the
// handle are shortened. Below it, how much of its share the client uses.
void PrintTensorTable(const ResidentTensorList& list, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_
