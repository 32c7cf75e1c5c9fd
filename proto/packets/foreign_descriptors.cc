#include "proto/packets/foreign_descriptors.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "proto/base/mutex.h"
#include "proto/base/named_thread.h"

// Since Linux 6.16.
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

namespace opserve {
namespace {

void Set(int socket, int option, int value) {
  setsockopt(socket, SOL_SOCKET, option, &value, sizeof(value));
}

// Closes one descriptor after the other. Lives until the process ends, which waits for none.
class Closer {
 public:
  Closer() {
    StartThread("closer", [this] { Run(); }).detach();
  }

  void Close(UniqueFd& fd) {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(fd));
    changed_.NotifyOne();
  }

 private:
  UniqueFd Next() {
    MutexLock lock(mutex_);
    while (waiting_.empty()) changed_.Wait(mutex_);
    UniqueFd next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  [[noreturn]] void Run() {
    while (true) Next();
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<UniqueFd> waiting_ ABSL_GUARDED_BY(mutex_);
};

Closer& TheCloser() {
  static auto* const closer = new Closer;
  return *closer;
}

// Receives what is next, and closes what comes with it. False once there is nothing more.
bool DropNext(int socket, bool is_stream) {
  std::array<char, 16384> bytes;
  ForeignDescriptorRoom room;
  iovec vector = {bytes.data(), bytes.size()};
  mmsghdr received = {};
  msghdr& message = received.msg_hdr;
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes;
  message.msg_controllen = sizeof(room.bytes);
  // Not recvmsg, of which the server has one of its own, for connections that gRPC has.
  const int count = recvmmsg(socket, &received, 1, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, nullptr);
  if (count < 0) return errno == EINTR;
  CloseForeign(message);
  // With an empty packet its sender comes, and with the end nothing.
  return received.msg_len > 0 || (!is_stream && message.msg_controllen > 0);
}

}  // namespace

void RefuseDescriptors(const UniqueFd& listener) {
  // Accepted sockets have it from here.
  Set(listener.get(), SO_PASSRIGHTS, 0);
}

bool IsUnix(const UniqueFd& socket) {
  int domain = 0;
  socklen_t length = sizeof(domain);
  return getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
         domain == AF_UNIX;
}

void ReceiveAllInline(int socket) { Set(socket, SO_OOBINLINE, 1); }

void CloseForeign(UniqueFd fd) {
  // Memory has seals, set or not, and nothing to wait for.
  if (!fd || fcntl(fd.get(), F_GET_SEALS) >= 0) return;
  const linger off = {};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &off, sizeof(off));
  try {
    TheCloser().Close(fd);
  } catch (const std::exception&) {
    // There is no thread or no memory to be had: it is closed here.
  }
}

bool CloseForeign(const msghdr& message) {
  bool has_any = false;
  for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(header))) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      CloseForeign(UniqueFd(fd));
      has_any = true;
    }
  }
  return has_any;
}

void DropUnread(int socket) {
  // Nothing more comes, and what has come can still be received.
  shutdown(socket, SHUT_RDWR);
  int type = 0;
  socklen_t length = sizeof(type);
  getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length);
  const bool is_stream = type == SOCK_STREAM;
  if (is_stream) {
    ReceiveAllInline(socket);
  } else {
    Set(socket, SO_PASSCRED, 1);
  }
  while (DropNext(socket, is_stream)) continue;
}

}  // namespace opserve
