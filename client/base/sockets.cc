#include "client/base/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "proto/transport/socket_mutator_abi.h"

namespace opserve::client_internal {
namespace {

struct Mutator : grpc_socket_mutator {
  std::shared_ptr<Sockets> sockets;
};

bool OnSocket(int fd, grpc_socket_mutator* mutator) {
  static_cast<Mutator*>(mutator)->sockets->Add(fd);
  return true;
}

int Compare(grpc_socket_mutator* a, grpc_socket_mutator* b) {
  return a < b ? -1 : static_cast<int>(a > b);
}

void Destroy(grpc_socket_mutator* mutator) { delete static_cast<Mutator*>(mutator); }

constexpr grpc_socket_mutator_vtable kTable = {OnSocket, Compare, Destroy, nullptr};

}  // namespace

std::shared_ptr<Sockets> Sockets::Watch(bool is_local, grpc::ChannelArguments& arguments) {
  if (!CanUseSocketMutators()) return std::make_shared<Sockets>(is_local);
  auto* const mutator = new Mutator;
  mutator->sockets = std::make_shared<Sockets>(is_local);
  grpc_socket_mutator_init(mutator, &kTable);
  std::shared_ptr<Sockets> sockets = mutator->sockets;
  arguments.SetSocketMutator(mutator);  // takes it over
  return sockets;
}

bool Sockets::CanWatch() { return CanUseSocketMutators(); }

bool Sockets::IsStill(const KnownSocket& socket, int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 && found.st_dev == socket.device && found.st_ino == socket.inode;
}

void Sockets::Add(int fd) {
  // Fails on unix sockets, which have no such option, and where the kernel has no CUBIC.
  constexpr char kCubic[] = "cubic";
  if (is_local_) (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic, sizeof(kCubic) - 1);
  struct stat found;
  if (fstat(fd, &found) != 0) return;
  const MutexLock lock(mutex_);
  std::erase_if(sockets_, [](const KnownSocket& socket) { return !IsStill(socket, socket.fd); });
  sockets_.push_back({fd, found.st_dev, found.st_ino});
}

void Sockets::ShutDown() {
  const MutexLock lock(mutex_);
  for (const KnownSocket& socket : sockets_) {
    // A copy stays what it is, whatever becomes of the descriptor.
    const int copy = fcntl(socket.fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    if (IsStill(socket, copy)) shutdown(copy, SHUT_RDWR);
    close(copy);
  }
  sockets_.clear();
}

}  // namespace opserve::client_internal
