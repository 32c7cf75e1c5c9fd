#include "tests/bench/wire/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "opserve/v1/regions.pb.h"

namespace opserve::wire_bench {
namespace {

// Sends one packet that carries a descriptor.
bool SendWithDescriptor(int socket, std::string bytes, int descriptor) {
  iovec data = {bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

SharedRegion::~SharedRegion() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (memory_ >= 0) close(memory_);
  if (socket_ >= 0) close(socket_);
}

absl::Status SharedRegion::Register(const std::string& path, uint64_t bytes) {
  absl::Status status = Map(bytes);
  return status.ok() ? Send(path, bytes) : status;
}

absl::Status SharedRegion::Map(uint64_t bytes) {
  memory_ = memfd_create("wire_load", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory_ < 0 || ftruncate(memory_, static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make shared memory");
  }
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "cannot map shared memory");
  data_ = static_cast<uint8_t*>(data);
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status SharedRegion::Send(const std::string& path, uint64_t bytes) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const timeval limit = {10, 0};
  v1::RegionRequest request;
  request.mutable_register_()->set_bytes(bytes);
  std::array<char, 4096> packet;
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
      connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      !SendWithDescriptor(socket_, request.SerializeAsString(), memory_)) {
    return absl::ErrnoToStatus(errno, "cannot register shared memory");
  }
  const ssize_t count = recv(socket_, packet.data(), packet.size(), 0);
  v1::RegionResponse response;
  if (count <= 0 || !response.ParseFromArray(packet.data(), static_cast<int>(count)) ||
      !response.error().empty()) {
    return absl::InternalError("the server refused shared memory");
  }
  id_ = response.region();
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
