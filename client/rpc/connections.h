// File: client/rpc/connections.h
//
// The connections of a client, and how many calls are on each. A call goes to the least busy one.

#ifndef OPSERVE_CLIENT_RPC_CONNECTIONS_H_
#define OPSERVE_CLIENT_RPC_CONNECTIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "client/base/sockets.h"
#include "client/rpc/client_poller.h"
#include "client/rpc/connection_watch.h"
#include "grpcpp/channel.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// A channel, which has one connection at a time, and its sockets.
struct ClientConnection {
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<Sockets> sockets;
  // Where it leads, and whether it is encrypted.
  std::string target = {};
  bool with_tls = false;
  // The number of its host; see Hosts.
  size_t host = 0;
  // Of its streams, and of calls that nobody waits for.
  ClientPoller* poller = nullptr;
  // To be told of calls that fail. Made by Connections, where there is a poller.
  std::shared_ptr<ConnectionWatch> watch = nullptr;
};

// Thread-safe. All calls must have ended when it is destroyed, which closes all connections, those
// that are being opened among them.
class Connections {
 public:
  explicit Connections(std::vector<ClientConnection> connections);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Begins a call on the connection that has the fewest of them.
  const ClientConnection& Begin();

  // Ends a call. The connection lives on.
  void End(const ClientConnection& connection);

 private:
  struct Counted : ClientConnection {
    int calls = 0;
  };

  Mutex mutex_;
  std::vector<Counted> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CONNECTIONS_H_
