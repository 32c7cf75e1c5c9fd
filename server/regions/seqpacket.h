// File: server/regions/seqpacket.h
//
// Unix sockets that carry packets, and file descriptors with them. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_SERVER_REGIONS_SEQPACKET_H_
#define OPSERVE_SERVER_REGIONS_SEQPACKET_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/regions/unique_fd.h"

namespace opserve {

// Most bytes of a packet.
inline constexpr size_t kMaxPacketBytes = 8192;

// Listens on a socket file with the permissions `mode`, in place of one that a dead server left
// behind. Accepting never blocks. ALREADY_EXISTS where a server answers at `path`, or where the
// file is something else.
absl::StatusOr<UniqueFd> ListenForPackets(const std::string& path, mode_t mode);

// Connects to a socket file; sending and receiving block.
absl::StatusOr<UniqueFd> ConnectForPackets(const std::string& path);

// A packet that came in.
struct Packet {
  std::string bytes;
  // What came with it, closed unless it is taken.
  std::vector<UniqueFd> descriptors;
  // Whether bytes or descriptors are missing: there were too many of them.
  bool is_truncated = false;
};

// The next packet. UNAVAILABLE where there is none now, OUT_OF_RANGE where the connection has
// ended, which an empty packet does as well.
absl::StatusOr<Packet> ReceivePacket(const UniqueFd& socket);

// Sends a packet with `descriptor`, or with none where it is negative. Never blocks: UNAVAILABLE
// where the other side does not read.
absl::Status SendPacket(const UniqueFd& socket, absl::string_view bytes, int descriptor = -1);

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_SEQPACKET_H_
