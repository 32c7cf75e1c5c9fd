#include "server/journal/line_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/named_thread.h"
#include "server/base/broken_pipe.h"

namespace opserve {
namespace {

constexpr char kStandardOutput[] = "-";

// Lines are written in pieces of so many bytes, and the rest of the last line of each, ...
constexpr size_t kPieceBytes = 64 << 10;
// ... or after this time.
constexpr std::chrono::milliseconds kRest{10};

// A piece has room for a line that begins just below its size, as nearly all are.
constexpr size_t kLineRoom = 2 << 10;

// One to add lines to, and one to write.
constexpr size_t kMostSpare = 2;

// Files that wait to be the next one, each of which takes a descriptor.
constexpr size_t kMostNextFiles = 8;

// What all files of the process share that write to standard output. A pipe takes a piece in parts,
// and those of others would come between them.
struct StandardOutput {
  Mutex mutex;
  // A line was written in part.
  bool is_in_line ABSL_GUARDED_BY(mutex) = false;
};

StandardOutput& Shared() {
  static StandardOutput shared;
  return shared;
}

// What could not be written, and the error of the operating system.
struct Loss {
  uint64_t lines = 0;
  int error = 0;
};

// Writes whole lines. `is_in_line`: a line was written in part, and is not to run into the next.
Loss WriteNow(const AppendFile& file, absl::string_view lines, bool& is_in_line) {
  const std::string behind_part = is_in_line ? absl::StrCat("\n", lines) : "";
  const absl::string_view piece = is_in_line ? absl::string_view(behind_part) : lines;
  absl::string_view left = piece;
  while (!left.empty()) {
    const ssize_t written = file.Write(left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    left.remove_prefix(static_cast<size_t>(written));
  }
  if (left.empty()) {
    is_in_line = false;
    return {};
  }
  Loss loss = {.error = errno};
  loss.lines = static_cast<uint64_t>(std::count(left.begin(), left.end(), '\n'));
  if (left.size() == piece.size()) {
    // The end of a line that was in the file already is no line.
    if (is_in_line) --loss.lines;
  } else {
    is_in_line = piece[piece.size() - left.size() - 1] != '\n';
  }
  return loss;
}

// The same to standard output, once nobody else writes there.
Loss WriteInTurn(const AppendFile& standard_output, absl::string_view lines) {
  StandardOutput& shared = Shared();
  MutexLock lock(shared.mutex);
  return WriteNow(standard_output, lines, shared.is_in_line);
}

}  // namespace

absl::StatusOr<AppendFile> LineFile::OpenFile(const std::string& path) {
  if (path == kStandardOutput) return AppendFile();
  return AppendFile::Open(path);
}

absl::StatusOr<std::unique_ptr<LineFile>> LineFile::Open(const LineFileOptions& options,
                                                         Logger& logger) {
  auto file = OpenFile(options.path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<LineFile>(new LineFile(options, *std::move(file), logger));
}

LineFile::LineFile(const LineFileOptions& options, AppendFile file, Logger& logger)
    : options_(options),
      logger_(logger),
      drops_(SteadyClock(), std::chrono::seconds(1)),
      file_(std::move(file)),
      batches_(1) {
  // The thread gives pieces back where it must not run out of memory.
  spare_pieces_.reserve(kMostSpare);
  thread_ = StartThread(absl::StrCat(options_.title, "-log"), [this] { Run(); });
}

LineFile::~LineFile() {
  {
    MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void LineFile::Add(absl::string_view line) noexcept {
  try {
    const size_t bytes = line.size() + 1;
    bool wakes = false;
    bool has_room = false;
    {
      MutexLock lock(mutex_);
      // Lines of AddAndTell may take more.
      has_room = waiting_bytes_ + bytes <= options_.max_waiting_bytes;
      if (has_room) {
        wakes = Append(line);
      }
    }
    if (wakes) changed_.NotifyOne();
    if (!has_room) Drop(1, "lines come faster than they are written");
  } catch (const std::exception&) {
    Drop(1, "there is no memory");
  }
}

void LineFile::AddAndTell(absl::string_view line, std::function<void(bool is_written)> told) {
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    std::vector<std::function<void(bool)>>& all_told = batches_.back().told;
    all_told.push_back(std::move(told));
    try {
      wakes = Append(line);
    } catch (...) {
      all_told.pop_back();
      throw;
    }
  }
  if (wakes) changed_.NotifyOne();
}

bool LineFile::Append(absl::string_view line) {
  const size_t bytes = line.size() + 1;
  std::string& piece = LastPiece();
  // What follows does not throw, so no line is there in part.
  piece.reserve(piece.size() + bytes);
  piece.append(line.data(), line.size());
  piece += '\n';
  const size_t before = std::exchange(waiting_bytes_, waiting_bytes_ + bytes);
  return is_resting_ ? before < kPieceBytes && waiting_bytes_ >= kPieceBytes : before == 0;
}

std::string& LineFile::LastPiece() {
  std::vector<std::string>& pieces = batches_.back().pieces;
  if (pieces.empty() || pieces.back().size() >= kPieceBytes) {
    pieces.emplace_back();
    if (spare_pieces_.empty()) {
      pieces.back().reserve(kPieceBytes + kLineRoom);
    } else {
      pieces.back().swap(spare_pieces_.back());
      spare_pieces_.pop_back();
    }
  }
  return pieces.back();
}

absl::Status LineFile::Reopen() {
  auto file = OpenFile(options_.path);
  if (!file.ok()) return file.status();
  if (!*file) return absl::OkStatus();
  {
    MutexLock lock(mutex_);
    // What is replaced is closed when `file` is.
    const Batch& last = batches_.back();
    const bool has_lines = !last.pieces.empty() || !last.told.empty();
    if (batches_.size() > 1 && (!has_lines || batches_.size() > kMostNextFiles)) {
      batches_[batches_.size() - 2].next_file = *std::move(file);
    } else {
      batches_.back().next_file = *std::move(file);
      batches_.emplace_back();
    }
  }
  changed_.NotifyOne();
  return absl::OkStatus();
}

bool LineFile::Flush(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  MutexLock lock(mutex_);
  const uint64_t added_bytes = passed_bytes_ + waiting_bytes_;
  while (passed_bytes_ < added_bytes) {
    if (!passed_.WaitUntil(mutex_, end)) return passed_bytes_ >= added_bytes;
  }
  return true;
}

void LineFile::Run() {
  BlockBrokenPipe();
  while (true) {
    std::vector<Batch> batches(1);
    size_t bytes = 0;
    {
      MutexLock lock(mutex_);
      // To be woken for every line would cost those who add them more than the line.
      const auto rest_end = std::chrono::steady_clock::now() + kRest;
      is_resting_ = true;
      while (waiting_bytes_ < kPieceBytes && batches_.size() == 1 && !is_stopping_) {
        if (!changed_.WaitUntil(mutex_, rest_end)) break;
      }
      is_resting_ = false;
      while (waiting_bytes_ == 0 && batches_.size() == 1 && !is_stopping_) changed_.Wait(mutex_);
      if (waiting_bytes_ == 0 && batches_.size() == 1) return;
      batches.swap(batches_);
      bytes = waiting_bytes_;
    }
    for (Batch& batch : batches) {
      const uint64_t lost_before = lost_;
      for (const std::string& piece : batch.pieces) WriteLines(piece);
      for (const auto& told : batch.told) told(lost_ == lost_before);
      if (batch.next_file) {
        file_ = std::move(batch.next_file);
        is_in_line_ = false;
      }
    }
    // They took their room until here.
    MutexLock lock(mutex_);
    waiting_bytes_ -= bytes;
    passed_bytes_ += bytes;
    passed_.NotifyAll();
    for (Batch& batch : batches) {
      for (std::string& piece : batch.pieces) {
        if (spare_pieces_.size() == kMostSpare) break;
        piece.clear();
        spare_pieces_.push_back(std::move(piece));
      }
    }
  }
}

void LineFile::WriteLines(absl::string_view lines) {
  const Loss loss = file_ ? WriteNow(file_, lines, is_in_line_) : WriteInTurn(file_, lines);
  if (loss.lines == 0) return;
  lost_ += loss.lines;
  Drop(loss.lines, absl::ErrnoToStatus(loss.error, "it cannot be written").message());
}

void LineFile::Drop(uint64_t lines, absl::string_view why) noexcept {
  dropped_.fetch_add(lines, std::memory_order_relaxed);
  try {
    if (drops_.Pass()) {
      logger_.Log(LogLevel::kWarn, "log lines dropped",
                  {{"log", options_.title}, {"reason", why}, {"lines_so_far", dropped()}});
    }
  } catch (const std::exception&) {
    // There is no memory for the line; they are counted all the same.
  }
}

}  // namespace opserve
