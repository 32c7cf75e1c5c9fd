// File: server/base/watched_files.h
//
// Notices when files change from which something was made, and makes it anew.

#ifndef OPSERVE_SERVER_BASE_WATCHED_FILES_H_
#define OPSERVE_SERVER_BASE_WATCHED_FILES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/base/file_state.h"
#include "server/base/log.h"

namespace opserve {

// One file, or several that belong together, such as a certificate and its key. Has no thread:
// whoever owns it asks now and again. Not thread-safe.
class WatchedFiles {
 public:
  // Makes the thing of what the files hold now. On an error, which names the file, everything stays
  // as it was.
  using Read = std::function<absl::Status()>;

  // The log's events: the thing is made anew, or stays as it was.
  struct Events {
    absl::string_view read;
    absl::string_view kept;
  };

  // What `events` point at must outlive the object, and so must `logger`. Empty paths are left out.
  // Files that change from here on are noticed, so the first read comes after this.
  WatchedFiles(const Events& events, const std::vector<std::string>& paths, Read read,
               Logger& logger);

  // Reads the files, and logs that, or with the reason that it failed, which is also returned. OK
  // where there are no files.
  absl::Status Reload();

  // The same if a file has another content, or is another file, than when this object last looked.
  void ReadChanged();

  // Whether there is any file.
  bool has_files() const { return !files_.empty(); }

 private:
  struct File {
    std::string path;
    FileState seen;
  };

  // Whether a file is another than at the last call, or, at the first, at the construction.
  bool HaveChanged();

  const Events events_;
  const Read read_;
  Logger& logger_;
  std::vector<File> files_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_WATCHED_FILES_H_
