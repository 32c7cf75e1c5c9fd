#include "client/cli/tensor_files.h"

#include <cstdio>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/arguments/arguments.h"

namespace opserve::cli {

absl::StatusOr<std::string> ReadStandardInput() { return ReadToEnd(stdin, "standard input"); }

absl::StatusOr<Tensor> ReadTensorFile(const std::string& file) {
  if (file != kStandardStream) return ReadNpy(file);
  absl::StatusOr<std::string> content = ReadStandardInput();
  if (!content.ok()) return content.status();
  absl::StatusOr<Tensor> tensor = ParseNpy(*std::move(content));
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(),
                      absl::StrCat("standard input: ", tensor.status().message()));
}

absl::Status WriteTensorFile(const std::string& file, const Tensor& tensor,
                             const Terminal& terminal) {
  try {
    return WriteBytes(file, FormatNpy(tensor), terminal);
  } catch (const std::bad_alloc&) {
    // A result whose elements are repeated may be too large to be written, though it was received.
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to write ", ToString(tensor.spec()), " to ", file));
  }
}

absl::Status WriteBytes(const std::string& file, absl::string_view bytes,
                        const Terminal& terminal) {
  if (file != kStandardStream) return WriteFile(file, bytes);
  terminal.out << bytes;
  return absl::OkStatus();
}

}  // namespace opserve::cli
