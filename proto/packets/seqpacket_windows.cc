// Windows hands handles over in other ways, which opserve does not use yet: see
// docs/adr/0043-windows.md. Whoever asks is told so.

#include "proto/packets/seqpacket.h"

namespace opserve {
namespace {

absl::Status NotHere() {
  return absl::UnimplementedError("on Windows opserve shares no memory between programs");
}

}  // namespace

absl::StatusOr<UniqueFd> ListenForPackets(const std::string& /*path*/, unsigned /*mode*/) {
  return NotHere();
}

absl::StatusOr<UniqueFd> ConnectForPackets(const std::string& /*path*/,
                                           absl::Duration /*timeout*/) {
  return NotHere();
}

bool WaitForPacket(const UniqueFd& /*socket*/, absl::Duration /*timeout*/) { return false; }

absl::StatusOr<Packet> ReceivePacket(const UniqueFd& /*socket*/) { return NotHere(); }

absl::Status SendPacket(const UniqueFd& /*socket*/, absl::string_view /*bytes*/,
                        int /*descriptor*/) {
  return NotHere();
}

}  // namespace opserve
