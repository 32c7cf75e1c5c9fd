#include "client/cli/tensor_files.h"

#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/arguments/arguments.h"

namespace opserve::cli {

absl::StatusOr<Tensor> ReadTensorFile(const std::string& file) {
  if (file != kStandardStream) return ReadNpy(file);
  absl::StatusOr<Tensor> tensor =
      ParseNpy(std::string(std::istreambuf_iterator<char>(std::cin), {}));
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(),
                      absl::StrCat("standard input: ", tensor.status().message()));
}

absl::Status WriteTensorFile(const std::string& file, const Tensor& tensor,
                             const Terminal& terminal) {
  return WriteBytes(file, FormatNpy(tensor), terminal);
}

absl::Status WriteBytes(const std::string& file, absl::string_view bytes,
                        const Terminal& terminal) {
  if (file != kStandardStream) return WriteFile(file, bytes);
  terminal.out << bytes;
  return absl::OkStatus();
}

}  // namespace opserve::cli
