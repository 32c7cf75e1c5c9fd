// File: proto/packets/seqpacket.h
//
// Unix sockets that carry packets, and file descriptors with them. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_PROTO_PACKETS_SEQPACKET_H_
#define OPSERVE_PROTO_PACKETS_SEQPACKET_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/packets/unique_fd.h"

namespace opserve {

// Most bytes of a packet.
inline constexpr size_t kMaxPacketBytes = 8192;

// Listens on a socket file with the permissions `mode`, in place of one that a dead server left
// behind. Accepting never blocks. ALREADY_EXISTS where a server answers at `path`, or where the
// file is something else.
absl::StatusOr<UniqueFd> ListenForPackets(const std::string& path, unsigned mode);

// Connects to a socket file; receiving blocks. DEADLINE_EXCEEDED where the other side accepts no
// connection within `timeout`.
absl::StatusOr<UniqueFd> ConnectForPackets(const std::string& path,
                                           absl::Duration timeout = absl::InfiniteDuration());

// Waits until there is a packet, or the connection has ended. False after `timeout`.
bool WaitForPacket(const UniqueFd& socket, absl::Duration timeout);

// A packet that came in.
struct Packet {
  std::string bytes;
  // What came with it, closed unless it is taken.
  std::vector<UniqueFd> descriptors;
  // Whether bytes or descriptors are missing: there were too many of them.
  bool is_truncated = false;
  // Whether descriptors are missing because this process may have no more of them.
  bool lacks_descriptors = false;
};

// The next packet. UNAVAILABLE where there is none now, OUT_OF_RANGE where the connection has
// ended, which an empty packet does as well.
absl::StatusOr<Packet> ReceivePacket(const UniqueFd& socket);

// Sends a packet with `descriptor`, or with none where it is negative. Never blocks: UNAVAILABLE
// where the other side does not read.
absl::Status SendPacket(const UniqueFd& socket, absl::string_view bytes, int descriptor = -1);

}  // namespace opserve

#endif  // OPSERVE_PROTO_PACKETS_SEQPACKET_H_
