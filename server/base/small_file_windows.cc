#include <windows.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/small_file.h"
#include "server/base/system_error.h"

namespace opserve {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Writes the text to the disk. Whether that worked.
bool WriteAll(const std::string& path, absl::string_view text) {
  const HANDLE file = CreateFileA(path.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                                  FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return false;
  DWORD written = 0;
  const bool is_written =
      WriteFile(file, text.data(), static_cast<DWORD>(text.size()), &written, nullptr) != 0 &&
      written == text.size() && FlushFileBuffers(file) != 0;
  const DWORD error = GetLastError();
  CloseHandle(file);
  SetLastError(error);
  return is_written;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::string text(kMaxSmallFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  }
  if (text.size() > kMaxSmallFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", kMaxSmallFileBytes, " bytes, the most allowed"));
  }
  return text;
}

// Permissions are those that the folder gives to new files.
absl::Status ReplaceFile(const std::string& path, absl::string_view text,
                         std::optional<mode_t> /*mode*/) {
  // In the same folder, so that it takes the other's place at once.
  const std::string temporary = absl::StrCat(path, ".", GetCurrentProcessId(), ".tmp");
  if (WriteAll(temporary, text) &&
      MoveFileExA(temporary.c_str(), path.c_str(),
                  MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0) {
    return absl::OkStatus();
  }
  const DWORD error = GetLastError();
  DeleteFileA(temporary.c_str());
  return SystemError(error, absl::StrCat("cannot write ", path));
}

}  // namespace opserve
