// File: client/rpc/connection_watch.h
//
// Has a channel noticed that is connected again while its calls fail. gRPC tries to connect by
// itself, but sees what has come of it only in a thread that polls: a call that waits for the
// connection does so, one that fails at once does not, and gRPC itself does every 5 s only.

#ifndef OPSERVE_CLIENT_RPC_CONNECTION_WATCH_H_
#define OPSERVE_CLIENT_RPC_CONNECTION_WATCH_H_

#include <chrono>
#include <functional>
#include <memory>

#include "client/rpc/client_poller.h"
#include "grpcpp/channel.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"

namespace opserve::client_internal {

// Thread-safe. Keeps itself while the poller watches the channel.
class ConnectionWatch final : public CompletionTag,
                              public std::enable_shared_from_this<ConnectionWatch> {
 public:
  // How long the poller watches after the latest call that failed. While it does, calls of other
  // threads are a little slower (ClientPoller::Begin), and perhaps nobody wants this channel any
  // more: that of a host that is gone, for which another one answers.
  static constexpr std::chrono::seconds kLimit{10};

  // Of a channel that was just made. It and the poller outlive Stop.
  ConnectionWatch(grpc::Channel& channel, ClientPoller& poller);
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // A call has failed: has the poller watch the channel until that is connected, or idle, where it
  // does not connect until it is called.
  void OnFailure();

  // The channel is about to go, which ends the watch.
  void Stop();

 private:
  void OnEvent(bool ok) override;
  // Whether there is something to wait for. If so, OnEvent comes once that is over.
  bool Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ClientPoller& poller_;
  // Held while gRPC is asked about the channel, so that Stop waits for that.
  Mutex mutex_;
  // Null once there is nothing to watch any more.
  grpc::Channel* channel_ ABSL_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point until_ ABSL_GUARDED_BY(mutex_);
  // While the poller watches: to tell it of the end, and what keeps this.
  std::function<void()> end_use_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ConnectionWatch> self_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CONNECTION_WATCH_H_
