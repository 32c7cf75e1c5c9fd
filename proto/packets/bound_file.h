// File: proto/packets/bound_file.h
//
// The file of a socket that listens.

#ifndef OPSERVE_PROTO_PACKETS_BOUND_FILE_H_
#define OPSERVE_PROTO_PACKETS_BOUND_FILE_H_

#include <cstdint>
#include <string>

namespace opserve {

// Knows a socket file again, so that it can be removed once its server ends and another's that has
// taken its place cannot. On Windows there are no such files. Copies are the same file. Not
// thread-safe.
class BoundFile {
 public:
  // None.
  BoundFile() = default;
  // The file that is at `path` now.
  explicit BoundFile(const std::string& path);

  // Removes the file, unless another one is at its path, or none. The second time without effect.
  void Remove();

 private:
  // Empty: none.
  std::string path_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_PACKETS_BOUND_FILE_H_
