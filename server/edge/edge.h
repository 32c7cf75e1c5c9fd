// File: server/edge/edge.h
//
// Takes the server's connections: listens, accepts within limits, hands them to gRPC, and ends
// those that flood it. docs/adr/0019-edge.md tells why gRPC does not do that itself.

#ifndef OPSERVE_SERVER_EDGE_EDGE_H_
#define OPSERVE_SERVER_EDGE_EDGE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/base/duration_histogram.h"
#include "server/base/log.h"
#include "server/edge/close_reason.h"
#include "server/edge/frame_meter.h"
#include "server/edge/listen_address.h"
#include "server/edge/listening_socket.h"
#include "server/edge/peer_identity.h"

namespace opserve {

struct EdgeOptions {
  // Most connections at a time; fewer where the limit on descriptors has no room for them.
  size_t max_connections = 16384;
  // Most connections of one client: an IPv4 address, the first 64 bits of an IPv6 address, or a
  // user of a socket file. 0: half of the connections that there may be.
  size_t max_connections_per_client = 0;
  // What holds in place of that for a client in particular; nullopt: that. Asked for each new
  // connection, in the edge's thread. Nothing: that for all.
  std::function<std::optional<size_t>(const PeerIdentity& peer)> connections_of = {};
  // Time in which a connection must begin to speak HTTP/2.
  std::chrono::milliseconds handshake_limit = std::chrono::seconds(10);
  FrameLimits frames;
  // Who may connect by way of socket files.
  SocketFileAccess socket_files;
};

// What became of connections since the start.
struct EdgeCounters {
  uint64_t accepted = 0;  // handed to gRPC
  size_t open = 0;        // of these, still there
  // Connections that were not taken, or ended, by CloseReason; kNone are those that the client or
  // gRPC ended.
  std::array<uint64_t, kCloseReasonCount> closed = {};
};

// To be used in this order: Listen, AddTo, Start, StopAccepting, EndConnections, and destruction
// after that of the gRPC server. counters(), TakeMostOpen() and receive_times() are thread-safe;
// all else belongs to one thread.
class Edge {
 public:
  // Listens at all addresses, with the words of the operating system where that fails. Connections
  // wait until Start. `logger` must outlive the edge. `with_tls`: whether TCP speaks TLS.
  static absl::StatusOr<std::unique_ptr<Edge>> Listen(const std::vector<ListenAddress>& addresses,
                                                      const EdgeOptions& options, bool with_tls,
                                                      Logger& logger);
  virtual ~Edge() = default;
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  // Prepares the builder of the gRPC server that is to have the connections.
  virtual void AddTo(grpc::ServerBuilder& builder,
                     std::shared_ptr<grpc::ServerCredentials> credentials) = 0;

  // Begins to accept. `server`: what the builder made.
  virtual void Start(grpc::Server& server) = 0;

  // Closes the listeners and removes socket files. Before the server's Shutdown. Waits for the
  // thread to be done with a connection that it hands over.
  virtual void StopAccepting() = 0;

  // Ends the connections, so that calls on them fail with UNAVAILABLE at their clients: what gRPC
  // has written arrives, and nothing after it. Returns once the clients have closed them as well,
  // or after `grace`, when those that are left are cut. After StopAccepting and before the server's
  // Shutdown, which by itself tells clients CANCELLED about calls that have just come.
  virtual void EndConnections(std::chrono::milliseconds grace) = 0;

  // Removes the socket files, so that nobody finds them any more. Also done by StopAccepting.
  virtual void RemoveSocketFiles() = 0;

  // Where it listens, with the ports that were picked, which are there once the builder has made
  // the server.
  virtual std::vector<ListenAddress> addresses() const = 0;

  virtual EdgeCounters counters() const = 0;
  // The most connections that were open at once since the last call, or the start.
  virtual size_t TakeMostOpen() = 0;
  // From the headers of each call until its first message was there.
  const DurationHistogram& receive_times() const { return *receive_times_; }
  // Constant.
  const EdgeOptions& options() const { return options_; }

 protected:
  explicit Edge(EdgeOptions options) : options_(std::move(options)) {}

  const EdgeOptions options_;
  // Connections may have it for longer than there is an edge.
  const std::shared_ptr<DurationHistogram> receive_times_ = std::make_shared<DurationHistogram>();
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_EDGE_H_
