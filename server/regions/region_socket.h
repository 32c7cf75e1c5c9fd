// File: server/regions/region_socket.h
//
// The socket where programs on this machine register regions; proto/opserve/v1/regions.proto is
// what is spoken there.

#ifndef OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_
#define OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "proto/packets/bound_file.h"
#include "proto/packets/seqpacket.h"
#include "proto/packets/unique_fd.h"
#include "server/base/clock.h"
#include "server/base/user_id.h"
#include "server/regions/posix_segment.h"
#include "server/regions/region_table.h"

namespace opserve {

struct RegionSocketOptions {
  // The socket file.
  std::string path;
  // Its permissions: who may connect.
  mode_t mode = 0600;
  // Connections beyond that, of the user of the process that connects or of all, are told so and
  // closed.
  size_t max_connections_per_user = 64;
  size_t max_connections = 256;
  // A connection that has had no region for so long is ended, whatever it sends.
  std::chrono::milliseconds idle_limit = std::chrono::minutes(1);
  // Whether POSIX shared memory may be registered by name.
  bool takes_names = false;
  // OK where the user may register and give up regions, else why not; asked for every packet.
  // Nothing: everybody may.
  std::function<absl::Status(UserId user)> may_use;
  // Fills in what the owner's user may have in particular; asked for every packet. Nothing: what
  // the table's limits say.
  std::function<void(RegionOwner& owner)> limit;
};

// The answer to `packet` of `owner`, a serialised RegionResponse; carries it out. Never fails.
// Segments are opened for `peer`, and none by name where it is nullopt. Takes as long as mapping
// the memory does. Thread-safe.
std::string AnswerRegionPacket(RegionTable& table, const RegionOwner& owner,
                               const std::optional<Peer>& peer, const Packet& packet);

// Serves connections in one thread. A connection that ends, however it does, takes its regions
// along; one that does not read its answers, or has no regions for long, is ended.
class RegionSocket {
 public:
  // Listens; fails as ListenForPackets does. `table` and `clock` must outlive the socket.
  static absl::StatusOr<std::unique_ptr<RegionSocket>> Start(const RegionSocketOptions& options,
                                                             RegionTable& table,
                                                             const Clock& clock = SteadyClock());
  // Ends all connections and removes the file.
  ~RegionSocket();
  RegionSocket(const RegionSocket&) = delete;
  RegionSocket& operator=(const RegionSocket&) = delete;

  const std::string& path() const { return options_.path; }

 private:
  struct Connection {
    UniqueFd socket;
    RegionOwner owner;
    // Set where segments may be registered by name.
    std::optional<Peer> peer;
    // When it was accepted, or sent a packet and had a region before or after.
    Clock::TimePoint last_use;
  };

  RegionSocket(const RegionSocketOptions& options, RegionTable& table, const Clock& clock,
               UniqueFd listener, UniqueFd stop);

  void Serve();
  // Whether to go on: false once there are no descriptors left.
  bool Accept();
  // Answers one packet. False where the connection is to be ended.
  bool ServeOne(Connection& connection);
  // Ends connections that have been idle for too long. Returns when to do so next.
  Clock::TimePoint EndIdle();

  const RegionSocketOptions options_;
  RegionTable& table_;
  const Clock& clock_;
  const UniqueFd listener_;
  const BoundFile file_;
  const UniqueFd stop_;
  // Only used by the thread.
  std::list<Connection> connections_;
  uint64_t last_connection_ = 0;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_
