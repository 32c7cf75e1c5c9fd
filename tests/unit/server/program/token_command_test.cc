#include "server/program/token_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/access/token_list.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TokenCommandTest : public ::testing::Test {
 protected:
  TokenCommandTest() { Remove(); }
  ~TokenCommandTest() override { Remove(); }

  void Remove() const {
    std::remove(file_.c_str());
    std::remove((file_ + ".lock").c_str());
  }

  // With what it prints as the text where it succeeds.
  EarlyExit Run(const std::vector<std::string>& words) const {
    std::ostringstream out;
    EarlyExit done = RunTo(out, words);
    if (done.code == 0) done.text = out.str();
    return done;
  }

  EarlyExit RunTo(std::ostream& out, std::vector<std::string> words) const {
    words.insert(words.begin(), "token");
    words.insert(words.end(), {"--tokens", file_});
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return RunTokenCommand(static_cast<int>(arguments.size()), arguments.data(), now_, out);
  }

  std::string file_ = ::testing::TempDir() + "opserve-token-command-" + std::to_string(getpid());
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(TokenCommandTest, AnEmptyValueTakesNoOtherWord) {
  const EarlyExit added = Run({"add", "--expires=", "30d"});
  EXPECT_EQ(added.code, kExitUsage);
  EXPECT_THAT(added.text, HasSubstr("--expires: Value  is no time"));
}

TEST_F(TokenCommandTest, AddsListsAndRevokes) {
  const EarlyExit added = Run({"add", "ci", "--expires", "30d"});
  ASSERT_EQ(added.code, 0) << added.text;
  EXPECT_THAT(added.text, StartsWith(kTokenPrefix));
  struct stat file = {};
  ASSERT_EQ(stat(file_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  const auto list = TokenList::Read(file_);
  ASSERT_TRUE(list.ok());
  const TokenEntry* const entry = list->Find(added.text.substr(0, added.text.size() - 1));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->name, "ci");
  EXPECT_EQ(entry->expires, now_ + absl::Hours(30 * 24));

  ASSERT_EQ(Run({"add", "lab"}).code, 0);
  EXPECT_EQ(Run({"list"}).text, "ci expires 2027-02-14T08:00:00Z\nlab\n");
  now_ += absl::Hours(30 * 24);
  EXPECT_EQ(Run({"list"}).text, "ci expired 2027-02-14T08:00:00Z\nlab\n");
  EXPECT_EQ(Run({"revoke", "ci"}).code, 0);
  EXPECT_EQ(Run({"list"}).text, "lab\n");
}

TEST_F(TokenCommandTest, SeveralAtOnceLoseNoToken) {
  constexpr int kAtOnce = 8;
  constexpr int kEach = 8;
  const auto name = [](int who, int which) {
    return "t" + std::to_string(who) + "-" + std::to_string(which);
  };
  std::vector<std::thread> threads;
  for (int who = 0; who < kAtOnce; ++who) {
    threads.emplace_back([&, who] {
      for (int i = 0; i < kEach; ++i) EXPECT_EQ(Run({"add", name(who, i)}).code, 0);
      EXPECT_EQ(Run({"revoke", name(who, 0)}).code, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto list = TokenList::Read(file_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->entries().size(), static_cast<size_t>(kAtOnce * (kEach - 1)));
}

// The link stays, also where there is no list yet, and the lock is that of the list.
TEST_F(TokenCommandTest, ChangesTheListThatLinksLeadTo) {
  const std::string list = file_;
  const std::string inner = list + ".inner";
  const std::string outer = list + ".outer";
  std::remove(inner.c_str());
  std::remove(outer.c_str());
  // One says where the list is from its own folder, the other from the root.
  std::filesystem::create_symlink(std::filesystem::path(list).filename(), inner);
  std::filesystem::create_symlink(inner, outer);
  file_ = outer;
  EXPECT_EQ(Run({"add", "ci"}).code, 0);
  EXPECT_EQ(Run({"add", "lab"}).code, 0);
  EXPECT_EQ(Run({"revoke", "ci"}).code, 0);
  EXPECT_EQ(Run({"list"}).text, "lab\n");
  EXPECT_TRUE(std::filesystem::is_symlink(inner));
  EXPECT_TRUE(std::filesystem::is_symlink(outer));
  EXPECT_FALSE(std::filesystem::exists(outer + ".lock"));
  file_ = list;
  EXPECT_EQ(Run({"list"}).text, "lab\n");
  std::remove(inner.c_str());
  std::remove(outer.c_str());
}

TEST_F(TokenCommandTest, ATokenThatCannotBePrintedIsNotInTheFile) {
  ASSERT_EQ(Run({"add", "lab"}).code, 0);
  std::ofstream full("/dev/full");
  const EarlyExit added = RunTo(full, {"add", "ci"});
  EXPECT_EQ(added.code, 1);
  EXPECT_THAT(added.text, HasSubstr("cannot write standard output"));
  EXPECT_THAT(added.text, HasSubstr("the token ci is removed again"));
  EXPECT_EQ(Run({"list"}).text, "lab\n");
  std::ofstream also_full("/dev/full");
  EXPECT_EQ(RunTo(also_full, {"list"}).code, 1);
}

TEST_F(TokenCommandTest, SaysWhatIsWrong) {
  EXPECT_EQ(Run({"list"}).code, 1);
  EXPECT_EQ(Run({"revoke", "ci"}).code, 1);
  EXPECT_EQ(Run({"add", "a/b"}).code, 1);
  ASSERT_EQ(Run({"add", "ci"}).code, 0);
  const EarlyExit again = Run({"add", "ci"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr("there is a token of the name ci"));
  for (const char* time : {"", "30", "d", "0d", "-1d", "30y", "99999999d"}) {
    EXPECT_EQ(Run({"add", "x", "--expires", time}).code, kExitUsage) << time;
  }
  EXPECT_EQ(Run({}).code, kExitUsage);
  EXPECT_EQ(Run({"ad", "x"}).code, kExitUsage);
}

}  // namespace
}  // namespace opserve::testing
