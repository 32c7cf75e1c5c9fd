// File: server/regions/region_socket.h
//
// The socket where programs on this machine register regions; proto/opserve/v1/regions.proto is
// what is spoken there.

#ifndef OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_
#define OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "proto/packets/seqpacket.h"
#include "proto/packets/unique_fd.h"
#include "server/regions/posix_segment.h"
#include "server/regions/region_table.h"

namespace opserve {

struct RegionSocketOptions {
  // The socket file.
  std::string path;
  // Its permissions: who may connect.
  mode_t mode = 0600;
  // Connections beyond that are told so and closed.
  size_t max_connections = 64;
  // Whether POSIX shared memory may be registered by name.
  bool takes_names = false;
};

// The answer to `packet` of `owner`, a serialised RegionResponse; carries it out. Never fails.
// Segments are opened for `peer`, and none by name where it is nullopt. Takes as long as mapping
// the memory does. Thread-safe.
std::string AnswerRegionPacket(RegionTable& table, RegionTable::Owner owner,
                               const std::optional<Peer>& peer, const Packet& packet);

// Serves connections in one thread. A connection that ends, however it does, takes its regions
// along; one that does not read its answers is ended.
class RegionSocket {
 public:
  // Listens; fails as ListenForPackets does. `table` must outlive the socket.
  static absl::StatusOr<std::unique_ptr<RegionSocket>> Start(const RegionSocketOptions& options,
                                                             RegionTable& table);
  // Ends all connections and removes the file.
  ~RegionSocket();
  RegionSocket(const RegionSocket&) = delete;
  RegionSocket& operator=(const RegionSocket&) = delete;

  const std::string& path() const { return options_.path; }

 private:
  struct Connection {
    UniqueFd socket;
    RegionTable::Owner owner = 0;
    // Set where segments may be registered by name.
    std::optional<Peer> peer;
  };

  RegionSocket(const RegionSocketOptions& options, RegionTable& table, UniqueFd listener,
               UniqueFd stop);

  void Serve();
  // Whether to go on: false once there are no descriptors left.
  bool Accept();
  // Answers one packet. False where the connection is to be ended.
  bool ServeOne(const Connection& connection);

  const RegionSocketOptions options_;
  RegionTable& table_;
  const UniqueFd listener_;
  const UniqueFd stop_;
  // Only used by the thread.
  std::list<Connection> connections_;
  RegionTable::Owner last_owner_ = 0;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_REGION_SOCKET_H_
