// File: server/edge/read_turns.h
//
// Whose bytes gRPC reads next where several clients want something.

#ifndef OPSERVE_SERVER_EDGE_READ_TURNS_H_
#define OPSERVE_SERVER_EDGE_READ_TURNS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"

namespace opserve {

struct EdgeConnection;

// Connections of one client take turns while another client is there as well. gRPC reads all that
// is ready, connection by connection, and works on what it has read before it reads on; so without
// turns a client gets as much of the server as it has connections, and a call waits for all calls
// of all of them. With turns each client has one read in each round of gRPC's polling: to others of
// its connections nothing seems to be there, and they are woken one after the other, each behind
// all that is ready by then. While a client is alone nothing is held back. Thread-safe.
//
// What is to be woken (Wake, server/edge/connection_table.h) is returned, for the caller to do it.
class ReadTurns {
 public:
  using Connections = std::vector<std::shared_ptr<EdgeConnection>>;

  // What each connection has of it.
  class Place;

  // What a read may do.
  struct Answer {
    // Whether there may be one. Otherwise the connection is woken later.
    bool may_read = true;
    // Most bytes of it.
    size_t most_bytes = SIZE_MAX;
    // Is to be read in the next round; nullptr where there is none.
    std::shared_ptr<EdgeConnection> to_wake;
  };

  // From now on the connection is one of `client`. It takes turns from the first such call on.
  [[nodiscard]] Connections SetClient(EdgeConnection& connection, absl::string_view client);

  // Asked before each read. `round`: number of the round of polling. `has_bytes`: whether there is
  // something to be read; a connection without does not wait for a turn.
  Answer OnRead(EdgeConnection& connection, uint64_t round, Clock::TimePoint now,
                absl::FunctionRef<bool()> has_bytes);

  // The connection has ended, and takes no turns any more.
  [[nodiscard]] Connections Leave(EdgeConnection& connection);

  // To be called now and again. Takes turns back that nobody took: gRPC may have given up a
  // connection of which the edge does not know yet that it has ended.
  [[nodiscard]] Connections OnTick(Clock::TimePoint now);

 private:
  struct Client {
    std::string name;
    size_t connections = 0;
    // In which it read last.
    uint64_t round = 0;
    std::deque<std::shared_ptr<EdgeConnection>> waiting;
    // The one whose turn it is; it was woken, or is to be. Nobody waits where it is nullptr.
    std::shared_ptr<EdgeConnection> next;
    Clock::TimePoint called = Clock::TimePoint::min();
  };

  // Whether another client was there lately.
  bool IsShared(const Client& reader, Clock::TimePoint now);
  // It is the turn of the first that waits. Returns it, or nullptr.
  std::shared_ptr<EdgeConnection> CallNext(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The connection is one of no client any more.
  Connections Remove(EdgeConnection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The client that read last, which is not looked into, and when the one before was another;
  // nullptr: none did, or it has gone.
  std::atomic<const Client*> last_client_ = nullptr;
  std::atomic<Clock::TimePoint> last_change_ = Clock::TimePoint::min();

  Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Client>> clients_ ABSL_GUARDED_BY(mutex_);
  // When the last call came, for what needs no better time.
  Clock::TimePoint now_ ABSL_GUARDED_BY(mutex_) = Clock::TimePoint::min();
};

class ReadTurns::Place {
 private:
  friend class ReadTurns;
  enum class State {
    kFree,     // of its own; only a read makes it something else
    kWaiting,  // for the client's other connections
    kNext,     // it is its turn
    kLeft,     // no turns any more
  };
  // Changed under the lock.
  std::atomic<State> state_ = State::kFree;
  std::atomic<Client*> client_ = nullptr;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_READ_TURNS_H_
