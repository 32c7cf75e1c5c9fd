#include "server/edge/socket_file.h"

#include <sys/un.h>

#include "absl/strings/str_cat.h"

namespace opserve {

absl::Status CheckSocketPath(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("names no socket file");
  if (path.size() < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("has a path longer than the system's limit of ",
                                                 sizeof(sockaddr_un::sun_path) - 1, " bytes"));
}

}  // namespace opserve
