#include "server/program/ready_file.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/small_file.h"

namespace opserve {

absl::StatusOr<ReadyFile> ReadyFile::Create(const std::string& path,
                                            const std::vector<std::string>& lines) {
  // Neither a device nor a link is to be replaced by a file, and removed in the end.
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::symlink_status(path, error).type();
  if (std::filesystem::exists(std::filesystem::file_status(type)) &&
      type != std::filesystem::file_type::regular) {
    return absl::FailedPreconditionError(absl::StrCat(path, " exists and is no regular file"));
  }
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  // Whoever may look into the folder may know.
  if (absl::Status status = ReplaceFile(path, text, 0666); !status.ok()) return status;
  return ReadyFile(path);
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

void ReadyFile::Remove() {
  const std::string path = std::exchange(path_, {});
  if (!path.empty()) std::remove(path.c_str());
}

}  // namespace opserve
