#include "proto/packets/bound_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace opserve {

BoundFile::BoundFile(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return;
  path_ = path;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

void BoundFile::Remove() {
  const std::string path = std::exchange(path_, {});
  struct stat status = {};
  if (path.empty() || lstat(path.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) unlink(path.c_str());
}

}  // namespace opserve
