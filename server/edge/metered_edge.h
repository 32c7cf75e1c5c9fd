// File: server/edge/metered_edge.h
//
// The edge that accepts by itself and looks at what comes in: docs/adr/0019-edge.md.

#ifndef OPSERVE_SERVER_EDGE_METERED_EDGE_H_
#define OPSERVE_SERVER_EDGE_METERED_EDGE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <list>
#include <memory>
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
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/base/token_bucket.h"
#include "server/edge/client_traffic.h"
#include "server/edge/close_reason.h"
#include "server/edge/connection_table.h"
#include "server/edge/edge.h"
#include "server/edge/listening_socket.h"
#include "server/edge/peer_identity.h"
#include "server/edge/read_turns.h"

namespace opserve {

// See Edge. Has a thread of its own, which never blocks.
class MeteredEdge final : public Edge {
 public:
  MeteredEdge(const EdgeOptions& options, bool with_tls, Logger& logger);
  ~MeteredEdge() override;

  // Listens at one more address; its message has the address.
  absl::Status AddAddress(const ListenAddress& address);
  // To be called once all addresses are there.
  absl::Status SetUp();

  void AddTo(grpc::ServerBuilder& builder,
             std::shared_ptr<grpc::ServerCredentials> credentials) override;
  void Start(grpc::Server& server) override;
  void StopAccepting() override;
  void EndConnections(std::chrono::milliseconds grace) override;
  void RemoveSocketFiles() override;
  std::vector<ListenAddress> addresses() const override;
  EdgeCounters counters() const override;
  size_t TakeMostOpen() override;

 private:
  // What connections of one client have in common.
  struct ClientShare {
    size_t connections = 0;
    std::shared_ptr<ClientTraffic> traffic = std::make_shared<ClientTraffic>();
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

  // A connection of a socket file that has ended, and whose descriptor gRPC may have still.
  struct Ended {
    UniqueFd duplicate;
    std::shared_ptr<const EdgeConnection> connection;
  };

  void Serve();
  void OnEvents(int timeout_ms);
  void AcceptSome(int listener);
  // Whether there may be another try at once.
  bool AcceptOne(int listener);
  // `socket` is still set afterwards where gRPC does not get it.
  void TakeConnection(UniqueFd& socket, int listener);
  CloseReason WhyNot(const PeerIdentity& peer, const std::string& client, Clock::TimePoint now);
  void HandOver(UniqueFd socket, int listener, bool is_unix);
  void Refuse(const std::string& client, CloseReason reason);
  // Closes what is left of connections of socket files that gRPC has closed by now.
  void CloseEnded();
  void OnTick();
  void EndConnection(int duplicate);
  void PollListeners(bool are_polled);
  void CloseListeners();
  void ShutDownConnections();

  const bool with_tls_;
  Logger& logger_;
  RateLimiter refusals_;
  RateLimiter ends_;
  std::vector<ListeningSockets> listening_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  grpc::Server* server_ = nullptr;
  // Connections may have these for longer than there is an edge.
  const std::shared_ptr<ReadTurns> turns_ = std::make_shared<ReadTurns>();

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
  std::list<Ended> ended_;
  absl::flat_hash_map<std::string, ClientShare> clients_;

  mutable Mutex mutex_;
  // There is no connection any more.
  CondVar emptied_;
  EdgeCounters counters_ ABSL_GUARDED_BY(mutex_);
  // Since it was taken.
  size_t most_open_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_METERED_EDGE_H_
