// File: server/base/small_file.h
//
// Files of a few kilobytes, read and written as a whole. All functions are safe to use from any
// thread.

#ifndef OPSERVE_SERVER_BASE_SMALL_FILE_H_
#define OPSERVE_SERVER_BASE_SMALL_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace opserve {

// Most bytes of a file that is read: of a policy, a list of tokens, certificates.
inline constexpr uint64_t kMaxSmallFileBytes = 1 << 20;

// All of the file. The error of the operating system, such as NOT_FOUND, with the name of the file,
// where it cannot be read; INVALID_ARGUMENT where it is longer than kMaxSmallFileBytes, or is no
// regular file, such as a pipe, for which a reader might wait without end.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Puts `text` in the place of the file: whoever reads it meanwhile finds the old text or the new
// one. `mode` are the permissions of the new file, of which the umask takes some. Without them it
// has owner, group and permissions of the file that was there, so that whoever reads that goes on
// doing so; where there was none, its owner alone may read it. Fails with the error of the
// operating system and the name of the file, which is as it was then.
absl::Status ReplaceFile(const std::string& path, absl::string_view text,
                         std::optional<mode_t> mode = std::nullopt);

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_SMALL_FILE_H_
