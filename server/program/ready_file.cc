#include "server/program/ready_file.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/small_file.h"

namespace opserve {

absl::StatusOr<ReadyFile> ReadyFile::Create(const std::string& path,
                                            const std::vector<std::string>& lines) {
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
