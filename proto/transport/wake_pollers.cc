#include "proto/transport/wake_pollers.h"

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel_posix.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>

#include "proto/packets/unique_fd.h"

namespace opserve {
namespace {

constexpr std::chrono::seconds kLimit{1};
constexpr std::chrono::milliseconds kStep{1};
// One thread polls for all sockets, and others wait for their turn to. gRPC's own may begin while
// this one polls, and has the turn after it: so it has to be woken after that.
constexpr int kTimes = 3;

// Whether the other end of a pair is closed.
bool IsHungUp(int fd) {
  pollfd state = {fd, 0, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) != 0;
}

// Has a socket move, and waits until gRPC has seen it. False where that took too long, or there is
// no socket.
bool MoveSocket() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return false;
  const UniqueFd end_here(pair[1]);
  // It takes its end over, and closes that once it has seen that nothing will come: the thread that
  // polls has been woken then.
  const auto channel = grpc::CreateInsecureChannelFromFd("wake", pair[0]);
  shutdown(end_here.get(), SHUT_WR);
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  // Perhaps no thread polls but this one. Another one that does comes first.
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  while (!IsHungUp(end_here.get()) && std::chrono::steady_clock::now() < limit) {
    queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kStep);
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return IsHungUp(end_here.get());
}

}  // namespace

GrpcUse::GrpcUse() { grpc_init(); }

GrpcUse::~GrpcUse() {
  for (int i = 0; i < kTimes && MoveSocket(); ++i) continue;
  grpc_shutdown();
}

}  // namespace opserve
