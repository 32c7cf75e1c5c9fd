#include "client/cli/tensor_files.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/arguments/arguments.h"

namespace opserve::cli {

absl::StatusOr<std::string> ReadStandardInput() {
  errno = 0;
  std::string content;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof(buffer), stdin)) {
    content.append(buffer, count);
  }
  if (std::ferror(stdin) != 0) return absl::ErrnoToStatus(errno, "cannot read standard input");
  return content;
}

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
  return WriteBytes(file, FormatNpy(tensor), terminal);
}

absl::Status WriteBytes(const std::string& file, absl::string_view bytes,
                        const Terminal& terminal) {
  if (file != kStandardStream) return WriteFile(file, bytes);
  terminal.out << bytes;
  return absl::OkStatus();
}

}  // namespace opserve::cli
