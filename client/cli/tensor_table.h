// File: client/cli/tensor_table.h
//
// Shows the resident tensors of a client as a table. Stateless.

#ifndef OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_
#define OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_

#include "client/cli/terminal.h"
#include "opserve/resident.h"

namespace opserve::cli {

// One row per tensor. Below it, how much of its share the client uses.
void PrintTensorTable(const ResidentTensorList& list, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TENSOR_TABLE_H_
