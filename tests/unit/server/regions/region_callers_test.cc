// Who may use a region that somebody has registered.

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/regions/region_table.h"
#include "tests/testing/region_client.h"

namespace opserve::testing {
namespace {

constexpr uid_t kUser = 7;
constexpr uid_t kOther = 8;

class RegionCallersTest : public ::testing::Test {
 protected:
  // The id of a new region of kUser.
  std::string Register() {
    const auto id = table_.Add({.connection = 1, .user = kUser}, MakeMemfd(100), 100);
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
  bool MayUse(const std::string& id, const RegionCaller& caller) {
    return table_.Find(id, caller) != nullptr;
  }

  RegionTable table_{{}};
};

TEST_F(RegionCallersTest, OverASocketFileItIsOfItsUser) {
  const std::string id = Register();
  EXPECT_FALSE(MayUse(id, {"uid:8", kOther}));
  EXPECT_TRUE(MayUse(id, {"uid:7", kUser}));
  // Whatever they show beside.
  EXPECT_FALSE(MayUse(id, {"token:ci", kOther}));
  EXPECT_FALSE(MayUse(id, {"uid:7", kOther}));
  EXPECT_TRUE(MayUse(id, {"token:ci", kUser}));
  EXPECT_TRUE(MayUse(id, {"uid:7", kUser}));
}

TEST_F(RegionCallersTest, ElsewhereItIsOfTheFirstIdentityThatUsesIt) {
  const std::string id = Register();
  EXPECT_TRUE(MayUse(id, {"127.0.0.1"}));
  for (const char* other : {"token:ci", "127.0.0.2", "uid:7", "127.0.0.1/name", ""}) {
    EXPECT_FALSE(MayUse(id, {other})) << other;
  }
  EXPECT_TRUE(MayUse(id, {"127.0.0.1"}));
  // Its user has proven to be the one who registered it.
  EXPECT_TRUE(MayUse(id, {"uid:7", kUser}));
  EXPECT_FALSE(MayUse(id, {"127.0.0.1", kOther}));
}

TEST_F(RegionCallersTest, WhatItsUserHasUsedIsNobodyElses) {
  const std::string id = Register();
  EXPECT_TRUE(MayUse(id, {"uid:7", kUser}));
  EXPECT_FALSE(MayUse(id, {"127.0.0.1"}));
  // One identity is one party, however it comes.
  const std::string with_token = Register();
  EXPECT_TRUE(MayUse(with_token, {"token:ci", kUser}));
  EXPECT_TRUE(MayUse(with_token, {"token:ci"}));
  EXPECT_FALSE(MayUse(with_token, {"token:lab"}));
}

TEST_F(RegionCallersTest, AForeignUserTakesNothing) {
  const std::string id = Register();
  EXPECT_FALSE(MayUse(id, {"token:ci", kOther}));
  EXPECT_TRUE(MayUse(id, {"token:lab"}));
  EXPECT_FALSE(MayUse(id, {"token:ci"}));
}

TEST_F(RegionCallersTest, EachRegionIsGivenByItself) {
  const std::string first = Register();
  const std::string second = Register();
  EXPECT_TRUE(MayUse(first, {"token:ci"}));
  EXPECT_TRUE(MayUse(second, {"token:lab"}));
  EXPECT_FALSE(MayUse(first, {"token:lab"}));
}

TEST_F(RegionCallersTest, OneOfManyAtOnceGetsIt) {
  constexpr std::array<const char*, 4> kIdentities = {"token:a", "token:b", "token:c", "token:d"};
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(Register());
  std::vector<std::atomic<int>> found(ids.size());
  std::vector<std::thread> threads;
  for (const char* identity : kIdentities) {
    threads.emplace_back([&, identity] {
      for (size_t i = 0; i < ids.size(); ++i) found[i] += MayUse(ids[i], {identity}) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(
      std::all_of(found.begin(), found.end(), [](const auto& count) { return count == 1; }));
}

}  // namespace
}  // namespace opserve::testing
