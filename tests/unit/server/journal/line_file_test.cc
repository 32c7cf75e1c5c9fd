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
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
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
