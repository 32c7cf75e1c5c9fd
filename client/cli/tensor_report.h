// File: client/cli/tensor_report.h
//
// Shows tensors, to people and to programs. Stateless.

#ifndef OPSERVE_CLIENT_CLI_TENSOR_REPORT_H_
#define OPSERVE_CLIENT_CLI_TENSOR_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/cli/decimal.h"
#include "client/cli/terminal.h"
#include "opserve/tensor.h"

namespace opserve::cli {

// A number; infinities and NaNs, which JSON does not have, as "Infinity", "-Infinity" and "NaN".
nlohmann::ordered_json ToJson(const Element& element);

// Type, sizes, strides and bytes, with the names of the wire contract.
nlohmann::ordered_json ToJson(const TensorSpec& spec);

// The same and first_values.
nlohmann::ordered_json ToJson(const Tensor& tensor);

// One line: "FLOAT32 {2, 3}, 24 B".
void PrintSpec(const TensorSpec& spec, const Terminal& terminal);

// The same line and the elements; the middle of large tensors is left out.
void PrintTensor(const Tensor& tensor, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TENSOR_REPORT_H_
