// Files that change, and what is made of them.

#include "server/base/watched_files.h"

#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "server/base/small_file.h"

namespace opserve::testing {
namespace {

class WatchedFilesTest : public ::testing::Test {
 protected:
  ~WatchedFilesTest() override {
    std::remove(first_.c_str());
    std::remove(second_.c_str());
  }

  // A file that is there before it is watched.
  static std::string Made(const std::string& text) {
    std::string path = ::testing::TempDir() + "opserve-watched-" +
                       ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
                       std::to_string(getpid()) + "-" + text;
    EXPECT_TRUE(ReplaceFile(path, text).ok());
    return path;
  }

  const std::string first_ = Made("first");
  const std::string second_ = Made("second");
  Logger logger_{LogFormat::kText, LogLevel::kOff};
  int reads_ = 0;
  absl::Status result_;
  WatchedFiles files_{{"pair read", "pair kept"},
                      {first_, "", second_},
                      [this] {
                        ++reads_;
                        return result_;
                      },
                      logger_};
};

TEST_F(WatchedFilesTest, AreReadOnceForEachChangeOfAny) {
  files_.ReadChanged();
  EXPECT_EQ(reads_, 0);
  ASSERT_TRUE(ReplaceFile(second_, "other!").ok());
  files_.ReadChanged();
  files_.ReadChanged();
  EXPECT_EQ(reads_, 1);
  ASSERT_TRUE(ReplaceFile(first_, "other").ok());
  ASSERT_TRUE(ReplaceFile(second_, "second").ok());
  files_.ReadChanged();
  files_.ReadChanged();
  EXPECT_EQ(reads_, 2);
}

TEST_F(WatchedFilesTest, AFileThatGoesOrComesIsAChange) {
  ASSERT_EQ(std::remove(first_.c_str()), 0);
  files_.ReadChanged();
  EXPECT_EQ(reads_, 1);
  files_.ReadChanged();
  EXPECT_EQ(reads_, 1);
  ASSERT_TRUE(ReplaceFile(first_, "first").ok());
  files_.ReadChanged();
  EXPECT_EQ(reads_, 2);
}

TEST_F(WatchedFilesTest, ANewTimeAloneIsAChange) {
  const utimbuf past = {1, 1};
  ASSERT_EQ(utime(first_.c_str(), &past), 0);
  files_.ReadChanged();
  EXPECT_EQ(reads_, 1);
}

TEST_F(WatchedFilesTest, ABrokenFileIsReadAgainWhenItIsMended) {
  result_ = absl::InvalidArgumentError("broken");
  ASSERT_TRUE(ReplaceFile(first_, "broken").ok());
  files_.ReadChanged();
  EXPECT_EQ(files_.Reload(), result_);
  files_.ReadChanged();
  EXPECT_EQ(reads_, 2);
  result_ = absl::OkStatus();
  ASSERT_TRUE(ReplaceFile(first_, "mended").ok());
  files_.ReadChanged();
  EXPECT_EQ(reads_, 3);
}

TEST_F(WatchedFilesTest, WhatWasReadByReloadIsNotReadAgain) {
  ASSERT_TRUE(ReplaceFile(first_, "other").ok());
  EXPECT_TRUE(files_.Reload().ok());
  files_.ReadChanged();
  EXPECT_EQ(reads_, 1);
}

TEST_F(WatchedFilesTest, WithoutFilesThereIsNothingToRead) {
  WatchedFiles none(
      {"nothing read", "nothing kept"}, {"", ""}, [] { return absl::InternalError("read"); },
      logger_);
  EXPECT_FALSE(none.has_files());
  EXPECT_TRUE(none.Reload().ok());
  none.ReadChanged();
}

}  // namespace
}  // namespace opserve::testing
