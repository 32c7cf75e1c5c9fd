// File: client/cli/tensor_files.h
//
// Tensors as .npy files, where kStandardStream is standard input or standard output. Stateless.

#ifndef OPSERVE_CLIENT_CLI_TENSOR_FILES_H_
#define OPSERVE_CLIENT_CLI_TENSOR_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/terminal.h"
#include "opserve/tensor.h"

namespace opserve::cli {

// Standard input to its end. Errors as those of ReadFile.
absl::StatusOr<std::string> ReadStandardInput();

// Reads a tensor; standard input to its end. Errors as those of ReadNpy.
absl::StatusOr<Tensor> ReadTensorFile(const std::string& file);

// Writes a tensor, or any bytes, to a file, or to the terminal's output. What that does not take
// shows when it is flushed.
absl::Status WriteTensorFile(const std::string& file, const Tensor& tensor,
                             const Terminal& terminal);
absl::Status WriteBytes(const std::string& file, absl::string_view bytes, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TENSOR_FILES_H_
