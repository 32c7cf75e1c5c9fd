#include <windows.h>

#include "server/base/file_state.h"

namespace opserve {
namespace {

int64_t NumberOf(DWORD high, DWORD low) {
  return static_cast<int64_t>(uint64_t{high} << 32 | uint64_t{low});
}

// Windows counts in units of 100 ns.
int64_t Nanoseconds(const FILETIME& time) {
  return NumberOf(time.dwHighDateTime, time.dwLowDateTime) * 100;
}

}  // namespace

FileState StateOfFile(const std::string& path) {
  // Without any right to the content, and in nobody's way.
  const HANDLE file =
      CreateFileA(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) return {};
  BY_HANDLE_FILE_INFORMATION found = {};
  const bool is_known = GetFileInformationByHandle(file, &found) != 0;
  CloseHandle(file);
  if (!is_known) return {};
  return {found.dwVolumeSerialNumber,
          static_cast<uint64_t>(NumberOf(found.nFileIndexHigh, found.nFileIndexLow)),
          NumberOf(found.nFileSizeHigh, found.nFileSizeLow), Nanoseconds(found.ftCreationTime),
          Nanoseconds(found.ftLastWriteTime)};
}

}  // namespace opserve
