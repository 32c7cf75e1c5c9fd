// Windows has no POSIX shared memory.

#include "server/errors/errors.h"
#include "server/regions/posix_segment.h"

namespace opserve {

absl::Status SegmentsOffError() {
  return MakeError(ErrorReason::POSIX_SHARED_MEMORY_OFF,
                   "This server takes no POSIX shared memory by name: it runs on Windows.");
}

absl::StatusOr<UniqueFd> OpenSegment(const std::string& /*name*/, const Peer& /*peer*/,
                                     absl::string_view /*field*/) {
  return SegmentsOffError();
}

}  // namespace opserve
