#include "proto/packets/seqpacket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/packets/bound_file.h"
#include "proto/packets/foreign_descriptors.h"

namespace opserve {
namespace {

// One more than any packet needs, so that a surplus one is noticed. The kernel drops the rest.
constexpr size_t kMaxDescriptors = 2;
constexpr int kBacklog = 64;

// Room for descriptors beside a packet.
union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
};

UniqueFd MakeSocket(int flags) {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\" has not 1 to ", sizeof(address.sun_path) - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int Connect(const UniqueFd& socket, const sockaddr_un& address) {
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
  }
  const UniqueFd probe = MakeSocket(SOCK_NONBLOCK);
  // EAGAIN: its backlog is full. EPROTOTYPE: its socket is of another type.
  if (Connect(probe, address) == 0 || errno == EAGAIN || errno == EPROTOTYPE) {
    return absl::AlreadyExistsError(absl::StrCat("another server listens on ", path));
  }
  if (errno != ECONNREFUSED) return absl::ErrnoToStatus(errno, path);
  if (unlink(path.c_str()) != 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

void TakeDescriptors(const cmsghdr& header, std::vector<UniqueFd>& descriptors) {
  const size_t count = (header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(&header) + i * sizeof(int), sizeof(int));
    descriptors.emplace_back(fd);
  }
}

}  // namespace

absl::StatusOr<UniqueFd> ListenForPackets(const std::string& path, unsigned mode) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  if (absl::Status status = RemoveStale(path, *address); !status.ok()) return status;
  UniqueFd listener = MakeSocket(SOCK_NONBLOCK);
  // The file inherits the permissions of the socket, so that it never has others; less what the
  // process masks out, which chmod then adds.
  if (!listener || fchmod(listener.get(), mode) != 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  BoundFile file(path);
  if (chmod(path.c_str(), mode) != 0 || listen(listener.get(), kBacklog) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  file.Release();
  return listener;
}

absl::StatusOr<UniqueFd> ConnectForPackets(const std::string& path, absl::Duration timeout) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  UniqueFd socket = MakeSocket(0);
  if (!socket) return absl::ErrnoToStatus(errno, path);
  if (timeout < absl::InfiniteDuration()) {
    // 0 would wait for ever.
    const timeval limit = absl::ToTimeval(std::max(timeout, absl::Microseconds(1)));
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  int result = 0;
  do {
    result = Connect(socket, *address);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return socket;
  if (errno == EAGAIN) {
    return absl::DeadlineExceededError(absl::StrCat(path, " accepts no connection in time"));
  }
  return absl::ErrnoToStatus(errno, path);
}

bool WaitForPacket(const UniqueFd& socket, absl::Duration timeout) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const absl::Duration left =
        timeout - absl::FromChrono(std::chrono::steady_clock::now() - start);
    const int64_t limit = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    pollfd polled = {socket.get(), POLLIN, 0};
    const int count = poll(&polled, 1, static_cast<int>(std::clamp<int64_t>(limit, 0, INT_MAX)));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

absl::StatusOr<Packet> ReceivePacket(const UniqueFd& socket) {
  Packet packet;
  packet.bytes.resize(kMaxPacketBytes);
  iovec vector = {packet.bytes.data(), packet.bytes.size()};
  ControlBuffer control;
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  ssize_t count = 0;
  do {
    count = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    if (errno == EAGAIN) return absl::UnavailableError("nothing to receive");
    return absl::OutOfRangeError(std::strerror(errno));
  }
  for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(header))) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      TakeDescriptors(*header, packet.descriptors);
    }
  }
  if (count == 0) {
    for (UniqueFd& descriptor : packet.descriptors) CloseForeign(std::move(descriptor));
    return absl::OutOfRangeError("the connection has ended");
  }
  packet.bytes.resize(count);
  // Where there was room for more, it is the system that had none.
  const bool is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  packet.lacks_descriptors = is_cut && packet.descriptors.size() < kMaxDescriptors;
  packet.is_truncated =
      (message.msg_flags & MSG_TRUNC) != 0 || (is_cut && !packet.lacks_descriptors);
  return packet;
}

absl::Status SendPacket(const UniqueFd& socket, absl::string_view bytes, int descriptor) {
  iovec vector = {const_cast<char*>(bytes.data()), bytes.size()};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  ssize_t count = 0;
  do {
    count = sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(bytes.size())) return absl::OkStatus();
  return absl::UnavailableError(std::strerror(errno));
}

}  // namespace opserve
