// File: client/rpc/client_poller.h
//
// A completion queue of gRPC, and the thread that works for it: streams end there, and calls that
// nobody waits for. One thread alone, because several on a queue wake each other in turn, which
// costs small calls more than all else.

#ifndef OPSERVE_CLIENT_RPC_CLIENT_POLLER_H_
#define OPSERVE_CLIENT_RPC_CLIENT_POLLER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/completion_queue.h"

namespace opserve::client_internal {

// Thread-safe. Its tags are CompletionTags. No operation may be under way any more when the last
// user gives it up, but those of BeginLasting that are about to end: that waits for them.
class ClientPoller {
 public:
  // Those of this process, made when somebody needs them: all its clients share them, as gRPC has
  // any thread that polls work for all connections. As many as there are channels to a host, but no
  // more than one for four processors. RESOURCE_EXHAUSTED where the system has no thread left.
  static absl::StatusOr<std::vector<std::shared_ptr<ClientPoller>>> ForChannels(int channels);

  // Throws std::system_error where there is no thread left.
  ClientPoller();
  ~ClientPoller();
  ClientPoller(const ClientPoller&) = delete;
  ClientPoller& operator=(const ClientPoller&) = delete;

  grpc::CompletionQueue* queue();

  // A call or a stream begins to use the queue, before its first operation, or has had its last
  // event, in which it says so. Between, and for kLinger, the thread polls. It does not otherwise:
  // who waits for a call polls by himself, and would have to be woken by it.
  void Begin();
  void End();
  static constexpr std::chrono::milliseconds kLinger{10};

  // Begin for an operation whose last event may come after the last user has given the poller up.
  // The result is its End.
  std::function<void()> BeginLasting();

 private:
  struct Impl;
  // The thread has a share: it may be the one that gives the poller up.
  const std::shared_ptr<Impl> impl_;
  std::thread thread_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CLIENT_POLLER_H_
