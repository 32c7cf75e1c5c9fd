// Small files as a whole, and the lock of those who change them.

#include "server/base/small_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/file_lock.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class SmallFileTest : public ::testing::Test {
 protected:
  SmallFileTest() { std::filesystem::create_directory(folder_); }
  ~SmallFileTest() override { std::filesystem::remove_all(folder_); }

  mode_t ModeOf(const std::string& path) {
    struct stat file = {};
    EXPECT_EQ(stat(path.c_str(), &file), 0);
    return file.st_mode & 0777;
  }

  const std::filesystem::path folder_ =
      ::testing::TempDir() + "opserve-small-" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
      std::to_string(getpid());
  const std::string path_ = folder_ / "file";
};

TEST_F(SmallFileTest, IsWhatWasWrittenLast) {
  ASSERT_TRUE(ReplaceFile(path_, "a longer text").ok());
  ASSERT_TRUE(ReplaceFile(path_, "text").ok());
  EXPECT_EQ(*ReadSmallFile(path_), "text");
  EXPECT_EQ(ModeOf(path_), 0600u);
  const mode_t mask = umask(022);
  ASSERT_TRUE(ReplaceFile(path_, "text", 0666).ok());
  umask(mask);
  EXPECT_EQ(ModeOf(path_), 0644u);
  // No temporary file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// Or who reads a list of tokens by its group could not any more, once one of them is revoked.
TEST_F(SmallFileTest, ReplacedFilesKeepTheirOwnersAndPermissions) {
  ASSERT_TRUE(ReplaceFile(path_, "text").ok());
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  // Another group than that of new files, where this process may give files to one.
  constexpr gid_t kOther = 1;
  const gid_t group = chown(path_.c_str(), geteuid(), kOther) == 0 ? kOther : getegid();
  ASSERT_TRUE(ReplaceFile(path_, "another text").ok());
  EXPECT_EQ(*ReadSmallFile(path_), "another text");
  EXPECT_EQ(ModeOf(path_), 0640u);
  struct stat file = {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, geteuid());
  EXPECT_EQ(file.st_gid, group);
}

TEST_F(SmallFileTest, TellsWhichFileAndWhy) {
  const absl::Status read = ReadSmallFile(path_).status();
  EXPECT_TRUE(absl::IsNotFound(read));
  EXPECT_THAT(std::string(read.message()), HasSubstr(path_));
  EXPECT_THAT(std::string(ReadSmallFile(folder_).status().message()), HasSubstr("directory"));
  const std::string absent = folder_ / "absent" / "file";
  const absl::Status written = ReplaceFile(absent, "text");
  EXPECT_TRUE(absl::IsNotFound(written));
  EXPECT_THAT(std::string(written.message()), HasSubstr(absent));
}

TEST_F(SmallFileTest, MayBeAsLongAsItMayAndNoLonger) {
  ASSERT_TRUE(ReplaceFile(path_, std::string(kMaxSmallFileBytes, 'x')).ok());
  EXPECT_EQ(ReadSmallFile(path_)->size(), kMaxSmallFileBytes);
  ASSERT_TRUE(ReplaceFile(path_, std::string(kMaxSmallFileBytes + 1, 'x')).ok());
  EXPECT_EQ(ReadSmallFile(path_).status().code(), absl::StatusCode::kInvalidArgument);
}

// Nobody writes to the pipe: to wait for that would have no end.
TEST_F(SmallFileTest, IsNoPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const absl::Status read = ReadSmallFile(path_).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(read.message(), path_ + " is no regular file");
}

TEST_F(SmallFileTest, OneAtATimeHasItsLock) {
  {
    const auto lock = FileLock::Take(path_, milliseconds(0));
    ASSERT_TRUE(lock.ok()) << lock.status();
    const absl::Status second = FileLock::Take(path_, milliseconds(1)).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(second.message()), HasSubstr(path_ + ".lock"));
  }
  EXPECT_TRUE(FileLock::Take(path_, milliseconds(0)).ok());
  EXPECT_EQ(ModeOf(path_ + ".lock"), 0600u);
  EXPECT_TRUE(absl::IsNotFound(FileLock::Take(folder_ / "absent" / "file", {}).status()));
}

}  // namespace
}  // namespace opserve::testing
