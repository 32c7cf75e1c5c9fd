// File: client/cli/summary.h
//
// Shows tensors the way NumPy prints arrays: aligned columns, nested brackets, and "..." in place
// of the middle of large ones. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_SUMMARY_H_
#define OPSERVE_CLIENT_CLI_SUMMARY_H_

#include <string>

#include "opserve/tensor.h"

namespace opserve::cli {

// The elements as nested lists. Above 1000 elements, only the first and last three along each
// dimension are shown. Lines are broken at 75 columns; no newline at the end.
std::string Summarize(const Tensor& tensor);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_SUMMARY_H_
