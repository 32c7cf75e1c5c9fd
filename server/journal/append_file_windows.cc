#include <windows.h>
// After windows.h.
#include <fcntl.h>
#include <io.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/system_error.h"
#include "server/journal/append_file.h"

namespace opserve {
namespace {

constexpr int kStandardOutput = 1;
// The C library counts in unsigned int.
constexpr size_t kMostBytes = 1 << 30;

}  // namespace

absl::StatusOr<AppendFile> AppendFile::Open(const std::string& path) {
  // Windows moves each write of such a handle to the end. Others may read, rename and remove the
  // file.
  const HANDLE file = CreateFileA(path.c_str(), FILE_APPEND_DATA,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return SystemError(GetLastError(), absl::StrCat("cannot open ", path));
  }
  const int fd = _open_osfhandle(reinterpret_cast<intptr_t>(file), _O_APPEND | _O_BINARY);
  if (fd >= 0) return AppendFile(fd);
  CloseHandle(file);
  return absl::ResourceExhaustedError(absl::StrCat("cannot open ", path, ": too many files"));
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) _close(fd_);
}

ssize_t AppendFile::Write(absl::string_view bytes) const {
  return _write(fd_ >= 0 ? fd_ : kStandardOutput, bytes.data(),
                static_cast<unsigned>(std::min(bytes.size(), kMostBytes)));
}

}  // namespace opserve
