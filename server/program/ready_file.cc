#include "server/program/ready_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve {

absl::StatusOr<ReadyFile> ReadyFile::Create(const std::string& path,
                                            const std::vector<std::string>& lines) {
  // In the same folder, so that the rename is atomic.
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream file(temporary);
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  if (file.fail() || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    std::remove(temporary.c_str());
    return status;
  }
  return ReadyFile(path);
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

void ReadyFile::Remove() {
  const std::string path = std::exchange(path_, {});
  if (!path.empty()) std::remove(path.c_str());
}

}  // namespace opserve
