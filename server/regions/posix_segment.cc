#include "server/regions/posix_segment.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/base/peer_credentials.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

// How much of a name an error quotes.
constexpr size_t kMaxQuotedBytes = 64;

absl::Status Refused(absl::string_view field, const std::string& name, absl::string_view before,
                     absl::string_view after) {
  const std::string quoted = absl::CHexEscape(TruncateUtf8(name, kMaxQuotedBytes));
  return MakeViolationError({std::string(field), absl::StrCat(before, "\"", quoted, "\"", after)});
}

bool IsNameCharacter(char c) {
  return absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '/';
}

// An ordinary file in memory, whose rights are all in its mode: an access list could say less.
bool IsSegment(int fd, const struct stat& file) {
  struct statfs system = {};
  return S_ISREG(file.st_mode) && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC &&
         fgetxattr(fd, "system.posix_acl_access", nullptr, 0) < 0;
}

}  // namespace

std::optional<Peer> PeerOf(const UniqueFd& socket) {
  const std::optional<ucred> credentials = PeerCredentials(socket.get());
  if (!credentials) return std::nullopt;
  Peer peer = {credentials->uid, {}};
  socklen_t size = 0;
  // Fails where there are any groups, and tells how many bytes they take.
  getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);
  peer.groups.resize(size / sizeof(gid_t));
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) {
    return std::nullopt;
  }
  peer.groups.push_back(credentials->gid);
  return peer;
}

bool MayReadAndWrite(const Peer& peer, const struct stat& file) {
  if (peer.user == 0) return true;
  // The first class that fits decides, even where a later one has more rights.
  mode_t needed = S_IROTH | S_IWOTH;
  if (peer.user == file.st_uid) {
    needed = S_IRUSR | S_IWUSR;
  } else if (std::find(peer.groups.begin(), peer.groups.end(), file.st_gid) != peer.groups.end()) {
    needed = S_IRGRP | S_IWGRP;
  }
  return (file.st_mode & needed) == needed;
}

absl::Status CheckSegmentName(const std::string& name, absl::string_view field) {
  if (name.size() >= 2 && name.size() <= kMaxSegmentNameBytes && name.front() == '/' &&
      std::all_of(name.begin() + 1, name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return Refused(
      field, name, "The name ",
      absl::StrCat(" of ", name.size(), " bytes is not a '/' and 1 to ", kMaxSegmentNameBytes - 1,
                   " further printable ASCII characters other than '/'."));
}

absl::Status SegmentsOffError() {
  return MakeError(ErrorReason::POSIX_SHARED_MEMORY_OFF,
                   "This server takes no POSIX shared memory by name; the option "
                   "--posix-shared-memory allows it.");
}

absl::StatusOr<UniqueFd> OpenSegment(const std::string& name, const Peer& peer,
                                     absl::string_view field) {
  if (absl::Status status = CheckSegmentName(name, field); !status.ok()) return status;
  // Without O_NONBLOCK, whoever has a lease on the file could hold up its opening. Links are not
  // followed, by shm_open itself.
  UniqueFd fd(shm_open(name.c_str(), O_RDWR | O_NONBLOCK, 0));
  struct stat file = {};
  if (fd && fstat(fd.get(), &file) == 0 && IsSegment(fd.get(), file) &&
      MayReadAndWrite(peer, file)) {
    return fd;
  }
  return Refused(field, name, "There is no segment ",
                 " that this program and the server may both read and write.");
}

}  // namespace opserve
