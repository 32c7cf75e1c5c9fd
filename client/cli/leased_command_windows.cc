#include "absl/status/status.h"
#include "client/cli/leased_command.h"

namespace opserve::cli {

absl::StatusOr<int> RunLeased(DeviceLease& /*lease*/, const DeviceGrant& /*grant*/,
                              absl::Duration /*time*/, const std::vector<std::string>& /*command*/,
                              const Terminal& /*terminal*/) {
  return absl::UnimplementedError("on Windows opserve runs no command under a lease yet");
}

}  // namespace opserve::cli
