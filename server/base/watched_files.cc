#include "server/base/watched_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve {
WatchedFiles::WatchedFiles(const Events& events, const std::vector<std::string>& paths, Read read,
                           Logger& logger)
    : events_(events), read_(std::move(read)), logger_(logger) {
  for (const std::string& path : paths) {
    if (!path.empty()) files_.push_back({path, StateOfFile(path)});
  }
}

absl::Status WatchedFiles::Reload() {
  if (!has_files()) return absl::OkStatus();
  // Before they are read: what changes meanwhile is noticed the next time.
  static_cast<void>(HaveChanged());
  absl::Status status = read_();
  if (status.ok()) {
    const auto path = [](std::string* out, const File& file) { absl::StrAppend(out, file.path); };
    logger_.Log(LogLevel::kInfo, events_.read, {{"files", absl::StrJoin(files_, ",", path)}});
  } else {
    logger_.Log(LogLevel::kError, events_.kept, {{"reason", status.message()}});
  }
  return status;
}

void WatchedFiles::ReadChanged() {
  if (HaveChanged()) Reload().IgnoreError();
}

bool WatchedFiles::HaveChanged() {
  bool have_changed = false;
  for (File& file : files_) {
    const FileState before = std::exchange(file.seen, StateOfFile(file.path));
    have_changed = have_changed || before != file.seen;
  }
  return have_changed;
}

}  // namespace opserve
