#include "server/edge/socket_file.h"

namespace opserve {

absl::Status CheckSocketPath(absl::string_view /*path*/) {
  return absl::InvalidArgumentError("is a socket file, which this server does not have on Windows");
}

}  // namespace opserve
