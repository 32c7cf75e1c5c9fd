#include "server/base/file_state.h"

#include <sys/stat.h>

namespace opserve {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileState StateOfFile(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_ctim),
          Nanoseconds(file.st_mtim)};
}

}  // namespace opserve
