// File: client/connections.h
//
// The connections of a client and the calls on them. A call goes to the least busy connection. One
// that does not move any more is given up: its calls are cancelled, its socket is closed, and
// another takes its place.

#ifndef OPSERVE_CLIENT_CONNECTIONS_H_
#define OPSERVE_CLIENT_CONNECTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "client/clock.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace opserve::client_internal {

// Thread-safe. All calls must have ended when it is destroyed.
class Connections {
 public:
  using ChannelFactory = std::function<std::shared_ptr<grpc::Channel>()>;

  // Channels of given-up connections are destroyed by `clock`, which must be gone before this is.
  Connections(int count, ChannelFactory make_channel, Clock& clock);

  // A call in progress.
  struct Call {
    std::shared_ptr<grpc::ClientContext> context;
    grpc::Channel* channel;  // lives until End
    uint64_t connection;     // names the connection
  };

  // Begins a call on the connection that has the fewest of them.
  Call Begin(std::shared_ptr<grpc::ClientContext> context);

  // Ends a call and gives its context up. Returns whether its connection was given up meanwhile,
  // which cancels the call. May run on a thread of gRPC.
  bool End(Call call);

  // Gives a connection up, if that has not happened yet.
  void GiveUp(uint64_t connection);

 private:
  struct Connection {
    uint64_t id;
    std::shared_ptr<grpc::Channel> channel;
    absl::flat_hash_set<std::shared_ptr<grpc::ClientContext>> contexts = {};
    int calls = 0;  // those included whose contexts are being destroyed
  };
  // Shared only because actions of a clock are copyable.
  using List = std::vector<std::shared_ptr<Connection>>;

  std::shared_ptr<Connection> MakeConnection();
  static List::iterator Find(List& list, uint64_t id);
  // The connection of a call, and whether it is given up. To be called with mutex_ held.
  std::pair<Connection*, bool> FindUsed(uint64_t id);
  // Has the clock destroy a given-up connection if it has no call left. With mutex_ held.
  void DropIfIdle(uint64_t id);

  const ChannelFactory make_channel_;
  Clock& clock_;
  // std::mutex, which ThreadSanitizer understands; it guards all that follows.
  std::mutex mutex_;
  uint64_t last_id_ = 0;
  List open_;
  List given_up_;  // those that still have calls
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_CONNECTIONS_H_
