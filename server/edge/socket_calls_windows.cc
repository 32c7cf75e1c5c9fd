#include <algorithm>
#include <cerrno>

#include "server/base/system_error.h"
#include "server/edge/socket_calls.h"
#include "server/edge/system_sockets_use.h"

namespace opserve {
namespace {

// The system counts in int.
constexpr size_t kMostBytes = 1 << 30;

SOCKET HandleOf(int fd) { return static_cast<SOCKET>(fd); }

int LengthOf(size_t bytes) { return static_cast<int>(std::min(bytes, kMostBytes)); }

// The errno that Linux would have.
int ErrnoOf(int error) {
  switch (error) {
    case WSAEWOULDBLOCK:
      return EAGAIN;
    case WSAEINTR:
      return EINTR;
    case WSAEMFILE:
      return EMFILE;
    case WSAENOBUFS:
      return ENOBUFS;
    default:
      return EIO;
  }
}

void SetErrno() { errno = ErrnoOf(WSAGetLastError()); }

}  // namespace

// A socket that has itself as its only correspondent.
absl::StatusOr<PollAlarm> PollAlarm::Make() {
  UseSystemSockets();
  UniqueFd fd(static_cast<int>(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP)));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int length = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!fd || bind(HandleOf(fd.get()), raw, length) != 0 ||
      getsockname(HandleOf(fd.get()), raw, &length) != 0 ||
      connect(HandleOf(fd.get()), raw, length) != 0) {
    return SystemError(static_cast<uint32_t>(WSAGetLastError()), "cannot make a socket");
  }
  return PollAlarm(std::move(fd));
}

void PollAlarm::Ring() const { send(HandleOf(fd_.get()), "!", 1, 0); }

ConnectionSocket::~ConnectionSocket() = default;

pollfd Polled(int fd, bool to_write) {
  const short events = to_write ? POLLOUT : POLLIN;
  return {HandleOf(fd), events, 0};
}

int WaitForSockets(std::vector<pollfd>& polled, int timeout_ms) {
  return WSAPoll(polled.data(), static_cast<ULONG>(polled.size()), timeout_ms);
}

UniqueFd AcceptNext(int listener, sockaddr_storage& from) {
  int bytes = sizeof(from);
  UniqueFd fd(
      static_cast<int>(accept(HandleOf(listener), reinterpret_cast<sockaddr*>(&from), &bytes)));
  if (!fd) {
    SetErrno();
    return fd;
  }
  u_long is_nonblocking = 1;
  ioctlsocket(HandleOf(fd.get()), FIONBIO, &is_nonblocking);
  return fd;
}

ssize_t ReceiveBytes(int fd, char* to, size_t bytes) {
  const int count = recv(HandleOf(fd), to, LengthOf(bytes), 0);
  if (count < 0) SetErrno();
  return count;
}

ssize_t SendBytes(int fd, absl::string_view bytes) {
  const int count = send(HandleOf(fd), bytes.data(), LengthOf(bytes.size()), 0);
  if (count < 0) SetErrno();
  return count;
}

void EndSending(int fd) { shutdown(HandleOf(fd), SD_SEND); }

}  // namespace opserve
