// File: server/regions/posix_segment.h
//
// POSIX shared memory that programs on this machine name instead of sending a descriptor. The
// server opens it only for whom the kernel would open it. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_SERVER_REGIONS_POSIX_SEGMENT_H_
#define OPSERVE_SERVER_REGIONS_POSIX_SEGMENT_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/packets/unique_fd.h"
#include "server/base/user_id.h"

namespace opserve {

// Most bytes of a segment's name.
inline constexpr size_t kMaxSegmentNameBytes = 255;

// Whose rights to a file count.
struct Peer {
  UserId user;
  // All of its groups.
  std::vector<GroupId> groups;
};

// The process that connected to `socket`, as it was then; nullopt where the kernel does not tell.
std::optional<Peer> PeerOf(const UniqueFd& socket);

// Whether the kernel would open a file of that owner, group and mode for `peer`, for reading and
// writing.
bool MayReadAndWrite(const Peer& peer, const struct stat& file);

// The field of opserve's own requests that names a segment.
inline constexpr char kSegmentNameField[] = "register.name";

// INVALID_REQUEST, about `field`, unless `name` is a '/' and further printable ASCII characters
// other than '/', at most kMaxSegmentNameBytes bytes in all.
absl::Status CheckSegmentName(const std::string& name, absl::string_view field = kSegmentNameField);

// The error of a request that names a segment where the server takes none by name:
// POSIX_SHARED_MEMORY_OFF.
absl::Status SegmentsOffError();

// Opens a segment for reading and writing, for `peer`; waits for nobody. INVALID_REQUEST, about
// `field`, where the name is none. The same, with one text for all causes, where there is no such
// segment, where `peer` or this process may not use it, and where it is something else: who has no
// right to a name does not learn whether it exists.
absl::StatusOr<UniqueFd> OpenSegment(const std::string& name, const Peer& peer,
                                     absl::string_view field = kSegmentNameField);

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_POSIX_SEGMENT_H_
