// File: server/journal/line_file.h
//
// A file to which many threads add lines without ever waiting for a disk.

#ifndef OPSERVE_SERVER_JOURNAL_LINE_FILE_H_
#define OPSERVE_SERVER_JOURNAL_LINE_FILE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/journal/append_file.h"

namespace opserve {

struct LineFileOptions {
  // The file, which is made if it is not there and added to if it is; "-": standard output.
  std::string path;
  // What the file is to its readers, such as "access"; lives for ever.
  absl::string_view title;
  // Bytes of lines that wait to be written. A line for which there is no room is dropped.
  size_t max_waiting_bytes = 4 << 20;
};

// Lines are written in their order, by a thread of the file's own. Thread-safe, except for
// destruction, which waits until all lines are written that can be.
class LineFile {
 public:
  // Fails in the words of the operating system where the file cannot be opened. `logger` gets a
  // line about lines that were dropped, at most one per second; it must outlive the file.
  static absl::StatusOr<std::unique_ptr<LineFile>> Open(const LineFileOptions& options,
                                                        Logger& logger);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Adds a line, which has no end of line yet, or drops it. Never blocks on the file.
  void Add(absl::string_view line) noexcept;

  // Adds a line for which there is always room, and calls `told` in the file's thread once it, and
  // all before it, have been given to the system; false: they were not, or not all of them, that
  // were written with it. `told` must not throw, and runs before the file is destroyed. Throws
  // where there is no memory, and then adds nothing. Whoever calls this bounds how many lines wait.
  void AddAndTell(absl::string_view line, std::function<void(bool is_written)> told);

  // Counts a line that could not be made for want of memory as dropped.
  void CountDropped() noexcept { Drop(1, "there is no memory"); }

  // Opens the file by its name again, so that one that was renamed is left to whoever did that:
  // lines that were added before go to the old file, later ones to the new one. Where it cannot be
  // opened, the old one stays. Nothing happens for standard output. While a file stalls for so long
  // that several wait to be the next one, the newest takes the place of the one before it, and gets
  // the lines that were meant for that.
  absl::Status Reopen();

  absl::string_view title() const { return options_.title; }

  // Lines that were dropped so far: there was no room, or they could not be written.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // Waits until all lines that were added before are written or dropped, at most for `limit`, which
  // only a file that stalls needs. Returns whether they are.
  bool Flush(std::chrono::milliseconds limit);

 private:
  // What the thread has to write at a time.
  struct Batch {
    // Whole lines, each with its end.
    std::vector<std::string> pieces;
    // Who is told once they are written.
    std::vector<std::function<void(bool)>> told;
    // To be used for later lines; none: that which there is.
    AppendFile next_file;
  };

  LineFile(const LineFileOptions& options, AppendFile file, Logger& logger);

  static absl::StatusOr<AppendFile> OpenFile(const std::string& path);
  void Run();
  // Adds the line, and returns whether the thread must be woken for it. Throws where there is no
  // memory, and then adds nothing.
  bool Append(absl::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The piece to which the next line is added.
  std::string& LastPiece() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes whole lines, to standard output in turn with the other files that do.
  void WriteLines(absl::string_view lines);
  void Drop(uint64_t lines, absl::string_view why) noexcept;

  const LineFileOptions options_;
  Logger& logger_;
  RateLimiter drops_;
  std::atomic<uint64_t> dropped_ = 0;

  // The thread's own. None where lines go to standard output, which is not closed.
  AppendFile file_;
  // A line was written to it in part.
  bool is_in_line_ = false;
  // Lines that could not be written.
  uint64_t lost_ = 0;

  Mutex mutex_;
  CondVar changed_;
  // Lines that wait belong to the last batch.
  std::vector<Batch> batches_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of all lines that no longer wait.
  uint64_t passed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  CondVar passed_;
  // Empty, with the room of one that was written, so that lines need no new memory.
  std::vector<std::string> spare_pieces_ ABSL_GUARDED_BY(mutex_);
  // The thread waits for more lines to come.
  bool is_resting_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_LINE_FILE_H_
