// File: proto/packets/unique_fd.h
//
// A file descriptor that closes itself. On Windows, where only sockets have numbers that are shared
// like this, it is a socket.

#ifndef OPSERVE_PROTO_PACKETS_UNIQUE_FD_H_
#define OPSERVE_PROTO_PACKETS_UNIQUE_FD_H_

#include <utility>

namespace opserve {

// Closes a descriptor, which is not negative. Safe to use from any thread.
void CloseDescriptor(int fd);

// Owns a file descriptor, or none. Not thread-safe.
class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes over `fd`; a negative one is none.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) CloseDescriptor(fd_);
  }

  // -1 where there is none.
  int get() const { return fd_; }
  // Gives it up: closing it is the caller's business.
  int Release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_PACKETS_UNIQUE_FD_H_
