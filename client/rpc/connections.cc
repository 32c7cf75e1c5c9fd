#include "client/rpc/connections.h"

#include <algorithm>
#include <utility>

#include "proto/transport/wake_pollers.h"

namespace opserve::client_internal {

Connections::Connections(std::vector<ClientConnection> connections) {
  for (ClientConnection& connection : connections) {
    if (connection.poller != nullptr) {
      connection.watch = std::make_shared<ConnectionWatch>(*connection.channel, *connection.poller);
    }
    connections_.push_back({std::move(connection)});
  }
}

Connections::~Connections() {
  // gRPC ends with its last user.
  const GrpcUse grpc;
  for (Counted& connection : connections_) {
    if (connection.watch != nullptr) connection.watch->Stop();
    connection.channel = nullptr;
  }
  // Those that are still being opened would be kept up to their time limit, and gRPC with them.
  for (const Counted& connection : connections_) connection.sockets->ShutDown();
}

const ClientConnection& Connections::Begin() {
  const MutexLock lock(mutex_);
  // The first of several: it is the warmest.
  Counted& connection =
      *std::min_element(connections_.begin(), connections_.end(),
                        [](const Counted& a, const Counted& b) { return a.calls < b.calls; });
  ++connection.calls;
  return connection;
}

void Connections::End(const ClientConnection& connection) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const Counted& known) { return &known == &connection; });
  --found->calls;
}

}  // namespace opserve::client_internal
