#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/exclusive_file.h"

namespace opserve {

absl::StatusOr<ExclusiveFile> ExclusiveFile::Open(const std::string& file) {
  // Whoever has it open so shares it with nobody.
  const int fd = _sopen(file.c_str(), _O_RDWR | _O_CREAT | _O_NOINHERIT | _O_BINARY, _SH_DENYRW,
                        _S_IREAD | _S_IWRITE);
  if (fd >= 0) return ExclusiveFile(fd);
  if (errno == EACCES) {
    return absl::UnavailableError(absl::StrCat("it holds ", file, ", or nobody may write it"));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", file));
}

ExclusiveFile::~ExclusiveFile() {
  if (fd_ >= 0) _close(fd_);
}

}  // namespace opserve
