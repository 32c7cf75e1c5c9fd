#include "client/rpc/wake_pollers.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel_posix.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

namespace opserve::client_internal {
namespace {

constexpr std::chrono::seconds kLimit{1};
constexpr std::chrono::milliseconds kStep{1};

// Whether the other end of a pair is closed.
bool IsHungUp(int fd) {
  pollfd state = {fd, 0, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) != 0;
}

}  // namespace

void WakePollers() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return;
  // It takes its end over. gRPC closes that once it has seen that nothing will come: whichever
  // thread polls has been woken then.
  const auto channel = grpc::CreateInsecureChannelFromFd("wake", pair[0]);
  shutdown(pair[1], SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + kLimit;
  // Perhaps no thread polls but this one. Another one that does comes first.
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  while (!IsHungUp(pair[1]) && std::chrono::steady_clock::now() < end) {
    queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kStep);
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  close(pair[1]);
}

}  // namespace opserve::client_internal
