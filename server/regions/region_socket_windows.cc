// Nobody registers regions on Windows: see region_windows.cc.

#include "absl/status/status.h"
#include "server/regions/region_socket.h"

namespace opserve {

absl::StatusOr<std::unique_ptr<RegionSocket>> RegionSocket::Start(
    const RegionSocketOptions& /*options*/, RegionTable& /*table*/, const Clock& /*clock*/) {
  return absl::UnimplementedError("this server shares no memory on Windows");
}

RegionSocket::~RegionSocket() = default;

}  // namespace opserve
