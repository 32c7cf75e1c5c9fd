// File: proto/packets/bound_file.h
//
// The file of a socket that listens.

#ifndef OPSERVE_PROTO_PACKETS_BOUND_FILE_H_
#define OPSERVE_PROTO_PACKETS_BOUND_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

namespace opserve {

// Owns a socket file, or none, and removes it once its server ends. It knows the file again, so
// another's that has taken its place stays. On Windows there are no such files. Not thread-safe.
class BoundFile {
 public:
  // None.
  BoundFile() = default;
  // The file that is at `path` now.
  explicit BoundFile(const std::string& path);
  BoundFile(BoundFile&& other) noexcept { *this = std::move(other); }
  BoundFile& operator=(BoundFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~BoundFile() { Remove(); }

  // Removes the file, unless another one is at its path, or none. The second time without effect.
  void Remove();
  // Gives it up: removing it is the caller's business.
  void Release() { path_.clear(); }

 private:
  // Empty: none.
  std::string path_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_PACKETS_BOUND_FILE_H_
