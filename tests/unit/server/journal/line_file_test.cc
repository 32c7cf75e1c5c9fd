// Lines on their way to a file: order, room, errors, files that are renamed.

#include "server/journal/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "proto/packets/unique_fd.h"

namespace opserve {
namespace {

class LineFileTest : public ::testing::Test {
 protected:
  LineFileTest() {
    std::string pattern = ::testing::TempDir() + "opserve-lines-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~LineFileTest() override { std::filesystem::remove_all(folder_); }

  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }

  std::string TextOf(const std::string& name) const {
    std::ifstream file(PathOf(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::unique_ptr<LineFile> OpenLines(const std::string& path, size_t room = 4 << 20) {
    auto file =
        LineFile::Open({.path = path, .title = "access", .max_waiting_bytes = room}, logger_);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  // The descriptors of this process.
  static size_t Descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  Logger logger_{LogFormat::kText, LogLevel::kOff};
  std::string folder_;
};

TEST_F(LineFileTest, AddsToTheFileInOrder) {
  std::ofstream(PathOf("log")) << "before\n";
  {
    const auto file = OpenLines(PathOf("log"));
    file->Add("one");
    file->Add("two");
  }
  EXPECT_EQ(TextOf("log"), "before\none\ntwo\n");
}

TEST_F(LineFileTest, IsForNobodyElseToRead) {
  OpenLines(PathOf("log"));
  struct stat status = {};
  ASSERT_EQ(stat(PathOf("log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0007, 0u);
}

TEST_F(LineFileTest, LeavesARenamedFileToWhoeverRenamedIt) {
  auto file = OpenLines(PathOf("log"));
  file->Add("old");
  std::filesystem::rename(PathOf("log"), PathOf("log.1"));
  ASSERT_TRUE(file->Reopen().ok());
  file->Add("new");
  std::filesystem::rename(PathOf("log"), PathOf("log.2"));
  ASSERT_TRUE(file->Reopen().ok());
  file->Add("newest");
  file.reset();
  EXPECT_EQ(TextOf("log.1"), "old\n");
  EXPECT_EQ(TextOf("log.2"), "new\n");
  EXPECT_EQ(TextOf("log"), "newest\n");
}

TEST_F(LineFileTest, KeepsTheOldFileWhereThereCanBeNoNewOne) {
  auto file = OpenLines(PathOf("log"));
  std::filesystem::rename(PathOf("log"), PathOf("log.1"));
  std::filesystem::create_directory(PathOf("log"));
  const absl::Status status = file->Reopen();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot open " + PathOf("log")), absl::string_view::npos);
  file->Add("goes on");
  file.reset();
  EXPECT_EQ(TextOf("log.1"), "goes on\n");
}

// A pipe that nobody reads is a disk that stalls.
TEST_F(LineFileTest, ReopensAStalledFileWithFewDescriptors) {
  for (const bool with_lines : {false, true}) {
    const std::string path = PathOf(absl::StrCat("pipe", with_lines));
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    auto file = OpenLines(path);
    for (int i = 0; i < 2000; ++i) file->Add(std::string(1000, 'x'));
    const size_t before = Descriptors();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(file->Reopen().ok());
      if (with_lines) file->Add("between");
    }
    // Of those that are being written, and of those that wait.
    EXPECT_LE(Descriptors(), before + 2 * 8) << with_lines;
    reader = UniqueFd();
    file.reset();
    EXPECT_LT(Descriptors(), before);
  }
}

TEST_F(LineFileTest, LosesNoLineWhereAStalledFileIsReopenedOften) {
  ASSERT_EQ(mkfifo(PathOf("log").c_str(), 0600), 0);
  const UniqueFd reader(open(PathOf("log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto file = OpenLines(PathOf("log"));
  for (int i = 0; i < 2000; ++i) file->Add(std::string(1000, 'x'));
  // It stalls in this one.
  std::filesystem::rename(PathOf("log"), PathOf("pipe"));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(file->Reopen().ok());
    file->Add(absl::StrCat(i));
    std::filesystem::rename(PathOf("log"), PathOf(absl::StrCat("log.", i)));
  }
  ASSERT_TRUE(file->Reopen().ok());
  file->Add("newest");
  ASSERT_EQ(fcntl(reader.get(), F_SETFL, 0), 0);
  std::thread drain([&] {
    std::array<char, 4096> piece;
    while (read(reader.get(), piece.data(), piece.size()) > 0) continue;
  });
  EXPECT_EQ(file->dropped(), 0u);
  file.reset();
  drain.join();
  std::string text;
  for (int i = 0; i < 100; ++i) text += TextOf(absl::StrCat("log.", i));
  text += TextOf("log");
  std::string expected;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&expected, i, "\n");
  EXPECT_EQ(text, expected + "newest\n");
  EXPECT_EQ(TextOf("log.0"), "0\n");
}

TEST_F(LineFileTest, CannotBeOpenedWhereThereIsNoFolder) {
  const auto file = LineFile::Open({.path = PathOf("no/such/log"), .title = "access"}, logger_);
  EXPECT_FALSE(file.ok());
}

// A pipe that nobody reads is a disk that stalls.
TEST_F(LineFileTest, DropsAndCountsLinesWhileTheFileStalls) {
  ASSERT_EQ(mkfifo(PathOf("pipe").c_str(), 0600), 0);
  const UniqueFd reader(open(PathOf("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  constexpr int kLines = 3000;
  const std::string text(1000, 'x');
  uint64_t dropped = 0;
  uint64_t lines = 0;
  {
    auto file = OpenLines(PathOf("pipe"), /*room=*/64 << 10);
    // Returns although the pipe and the room for waiting lines hold far less.
    for (int i = 0; i < kLines; ++i) file->Add(text);
    dropped = file->dropped();
    EXPECT_GT(dropped, 0u);
    ASSERT_EQ(fcntl(reader.get(), F_SETFL, 0), 0);
    std::thread drain([&] {
      std::array<char, 4096> piece;
      ssize_t got = 0;
      while ((got = read(reader.get(), piece.data(), piece.size())) > 0) {
        lines += static_cast<uint64_t>(std::count(piece.begin(), piece.begin() + got, '\n'));
      }
    });
    file.reset();
    drain.join();
  }
  EXPECT_EQ(lines + dropped, static_cast<uint64_t>(kLines));
}

TEST_F(LineFileTest, CountsLinesThatAFullDiskDoesNotTake) {
  auto file = OpenLines("/dev/full");
  file->Add("one");
  file->Add("two");
  while (file->dropped() < 2) std::this_thread::yield();
  EXPECT_EQ(file->dropped(), 2u);
}

TEST_F(LineFileTest, CountsLinesOfAPipeWhoseReaderHasGone) {
  ASSERT_EQ(mkfifo(PathOf("pipe").c_str(), 0600), 0);
  // Nobody reads it yet.
  EXPECT_FALSE(LineFile::Open({.path = PathOf("pipe"), .title = "access"}, logger_).ok());
  UniqueFd reader(open(PathOf("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto file = OpenLines(PathOf("pipe"));
  reader = UniqueFd();
  file->Add("nobody reads this");
  while (file->dropped() < 1) std::this_thread::yield();
  EXPECT_EQ(file->dropped(), 1u);
}

// The reader of a pipe takes less at a time than is written.
TEST_F(LineFileTest, KeepsLinesWholeWhereSeveralFilesGoToStandardOutput) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const UniqueFd output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(dup2(writer.get(), STDOUT_FILENO), STDOUT_FILENO);
  writer = UniqueFd();
  std::string text;
  std::thread drain([&] {
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = read(reader.get(), piece.data(), piece.size())) > 0) {
      text.append(piece.data(), static_cast<size_t>(got));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  constexpr size_t kLines = 10000;
  const std::string as(100, 'a');
  const std::string bs(100, 'b');
  {
    const auto first = OpenLines("-");
    const auto second = OpenLines("-");
    for (size_t i = 0; i < kLines; ++i) {
      first->Add(as);
      second->Add(bs);
    }
  }
  dup2(output.get(), STDOUT_FILENO);
  drain.join();
  std::map<absl::string_view, size_t> counts;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) ++counts[line];
  EXPECT_EQ(counts.size(), 3u) << "with what is behind the last line";
  EXPECT_EQ(counts[as], kLines);
  EXPECT_EQ(counts[bs], kLines);
}

TEST_F(LineFileTest, TellsOnceALineIsInTheFile) {
  std::string text_when_told;
  bool was_written = false;
  {
    const auto file = OpenLines(PathOf("log"));
    file->Add("before");
    file->AddAndTell("told", [&](bool is_written) {
      was_written = is_written;
      text_when_told = TextOf("log");
    });
  }
  EXPECT_TRUE(was_written);
  EXPECT_EQ(text_when_told, "before\ntold\n");
}

TEST_F(LineFileTest, HasRoomForLinesThatSomebodyWaitsFor) {
  std::vector<bool> told;
  {
    const auto file = OpenLines(PathOf("log"), /*room=*/1);
    file->Add("dropped");
    for (int i = 0; i < 3; ++i) {
      file->AddAndTell("kept", [&](bool is_written) { told.push_back(is_written); });
    }
    EXPECT_EQ(file->dropped(), 1u);
  }
  EXPECT_EQ(TextOf("log"), "kept\nkept\nkept\n");
  EXPECT_EQ(told, std::vector<bool>(3, true));
}

TEST_F(LineFileTest, TellsThatALineIsNotInTheFile) {
  std::vector<bool> told;
  {
    const auto file = OpenLines("/dev/full");
    file->AddAndTell("lost", [&](bool is_written) { told.push_back(is_written); });
  }
  EXPECT_EQ(told, std::vector<bool>({false}));
}

TEST_F(LineFileTest, FlushedLinesAreInTheFile) {
  const auto file = OpenLines(PathOf("log"));
  EXPECT_TRUE(file->Flush(std::chrono::milliseconds(0)));
  file->Add("one");
  file->Add("two");
  EXPECT_TRUE(file->Flush(std::chrono::hours(1)));
  EXPECT_EQ(TextOf("log"), "one\ntwo\n");
}

TEST_F(LineFileTest, AFileThatStallsEndsTheWaitForIt) {
  ASSERT_EQ(mkfifo(PathOf("pipe").c_str(), 0600), 0);
  UniqueFd reader(open(PathOf("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto file = OpenLines(PathOf("pipe"));
  // More than the pipe holds.
  for (int i = 0; i < 2000; ++i) file->Add(std::string(1000, 'x'));
  EXPECT_FALSE(file->Flush(std::chrono::milliseconds(1)));
  reader = UniqueFd();
  // What is dropped does not wait any more.
  EXPECT_TRUE(file->Flush(std::chrono::hours(1)));
  EXPECT_GT(file->dropped(), 0u);
}

TEST_F(LineFileTest, LosesNothingOfManyThreads) {
  {
    const auto file = OpenLines(PathOf("log"));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&file, t] {
        for (int i = 0; i < 1000; ++i) file->Add(absl::StrCat(t));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(file->dropped(), 0u);
  }
  EXPECT_EQ(TextOf("log").size(), 8000u);
}

}  // namespace
}  // namespace opserve
