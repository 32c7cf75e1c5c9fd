// File: server/edge/edge.h
//
// Takes the server's connections: listens, accepts within limits, hands them to gRPC, and ends
// those that flood it. docs/adr/0019-edge.md tells why gRPC does not do that itself.

#ifndef OPSERVE_SERVER_EDGE_EDGE_H_
#define OPSERVE_SERVER_EDGE_EDGE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/base/mutex.h"
#include "proto/packets/unique_fd.h"
#include "server/base/clock.h"
#include "server/base/duration_histogram.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/base/token_bucket.h"
#include "server/edge/close_reason.h"
#include "server/edge/connection_table.h"
#include "server/edge/listening_socket.h"
#include "server/edge/peer_identity.h"
#include "server/edge/read_turns.h"

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
// after that of the gRPC server. Has a thread of its own, which never blocks. counters()
// and receive_times() are thread-safe; all else belongs to one thread.
class Edge {
 public:
  // Listens at all addresses, with the words of the operating system where that fails. Connections
  // wait until Start. `logger` must outlive the edge. `with_tls`: whether TCP speaks TLS.
  static absl::StatusOr<std::unique_ptr<Edge>> Listen(const std::vector<ListenAddress>& addresses,
                                                      const EdgeOptions& options, bool with_tls,
                                                      Logger& logger);
  ~Edge();
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  // Prepares the builder of the gRPC server that is to have the connections.
  void AddTo(grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials);

  // Begins to accept. `server`: what the builder made.
  void Start(grpc::Server& server);

  // Closes the listeners and removes socket files. Before the server's Shutdown. Waits for the
  // thread to be done with a connection that it hands over.
  void StopAccepting();

  // Ends the connections, so that calls on them fail with UNAVAILABLE at their clients: what gRPC
  // has written arrives, and nothing after it. Returns once the clients have closed them as well,
  // or after `grace`, when those that are left are cut. After StopAccepting and before the server's
  // Shutdown, which by itself tells clients CANCELLED about calls that have just come.
  void EndConnections(std::chrono::milliseconds grace);

  // Removes the socket files, so that nobody finds them any more. Also done by StopAccepting.
  void RemoveSocketFiles();

  // Where it listens, with the ports that were picked.
  std::vector<ListenAddress> addresses() const;

  EdgeCounters counters() const;
  // From the headers of each call until its first message was there.
  const DurationHistogram& receive_times() const { return *receive_times_; }
  // Constant.
  const EdgeOptions& options() const { return options_; }

 private:
  // What connections of one client have in common.
  struct ClientShare {
    size_t connections = 0;
    std::shared_ptr<WaitingCalls> waiting_calls = std::make_shared<WaitingCalls>();
    // Each connection that was ended for what it did takes one.
    TokenBucket misdeeds;
    Clock::TimePoint last_misdeed = Clock::TimePoint::min();
  };
  // A connection that gRPC has.
  struct Watched {
    UniqueFd duplicate;
    std::shared_ptr<EdgeConnection> connection;
    std::string client;
    Clock::TimePoint accepted;
    CloseReason reason = CloseReason::kNone;
  };

  Edge(const EdgeOptions& options, bool with_tls, Logger& logger);

  absl::Status SetUp();
  void Serve();
  void OnEvents(int timeout_ms);
  void AcceptSome(int listener);
  // Whether there may be another try at once.
  bool AcceptOne(int listener);
  void TakeConnection(UniqueFd socket, int listener);
  CloseReason WhyNot(const PeerIdentity& peer, const std::string& client, Clock::TimePoint now);
  void HandOver(UniqueFd socket, int listener, bool is_unix);
  void Refuse(const std::string& client, CloseReason reason);
  void OnTick();
  void EndConnection(int duplicate);
  void PollListeners(bool are_polled);
  void CloseListeners();
  void ShutDownConnections();

  const EdgeOptions options_;
  const bool with_tls_;
  Logger& logger_;
  RateLimiter refusals_;
  RateLimiter ends_;
  std::vector<ListeningSockets> listening_;
  std::vector<std::string> socket_files_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  grpc::Server* server_ = nullptr;
  // Connections may have these for longer than there is an edge.
  const std::shared_ptr<ReadTurns> turns_ = std::make_shared<ReadTurns>();
  const std::shared_ptr<DurationHistogram> receive_times_ = std::make_shared<DurationHistogram>();

  UniqueFd wake_;
  UniqueFd poller_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_over_ = false;
  std::promise<void> listeners_closed_;
  // How far connections are to be shut: not at all, for what is written, or altogether.
  enum class Shut { kNo, kWriting, kAll };
  std::atomic<Shut> shut_ = Shut::kNo;
  std::promise<void> connections_cut_;
  std::thread thread_;

  // The thread's own.
  bool accepts_ = true;
  bool is_paused_ = false;
  Shut has_shut_ = Shut::kNo;
  Clock::TimePoint next_tick_ = Clock::TimePoint::min();
  absl::flat_hash_map<int, Watched> watched_;
  absl::flat_hash_map<std::string, ClientShare> clients_;

  mutable Mutex mutex_;
  // There is no connection any more.
  CondVar emptied_;
  EdgeCounters counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_EDGE_H_
