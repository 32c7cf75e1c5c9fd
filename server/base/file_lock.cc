#include "server/base/file_lock.h"

#include <algorithm>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// No system has a wait for it that ends by itself.
constexpr milliseconds kPause{10};

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, milliseconds limit) {
  const std::string file = absl::StrCat(path, ".lock");
  const auto end = steady_clock::now() + limit;
  while (true) {
    absl::StatusOr<ExclusiveFile> taken = ExclusiveFile::Open(file);
    if (taken.ok()) return FileLock(*std::move(taken));
    if (!absl::IsUnavailable(taken.status())) return taken.status();
    const auto left = end - steady_clock::now();
    if (left <= steady_clock::duration::zero()) {
      return absl::DeadlineExceededError(absl::StrCat("another program changes ", path, ": for ",
                                                      limit.count(), " ms ",
                                                      taken.status().message()));
    }
    std::this_thread::sleep_for(std::min<steady_clock::duration>(left, kPause));
  }
}

}  // namespace opserve
