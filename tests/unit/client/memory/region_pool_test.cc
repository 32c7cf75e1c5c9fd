// Regions that are used again, without a server.

#include "client/memory/region_pool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kKiB = 1024;

class RegionPoolTest : public ::testing::Test {
 protected:
  // A region called by its number; its end is noted.
  absl::StatusOr<SharedRegion> Make(uint64_t bytes) {
    struct Memory {
      ~Memory() { ended.push_back(id); }
      std::vector<std::string>& ended;
      std::string id;
      std::vector<std::byte> bytes;
    };
    const std::shared_ptr<Memory> memory(
        new Memory{ended_, absl::StrCat(++made_), std::vector<std::byte>(bytes)});
    return SharedRegion({memory, &memory->id}, memory->bytes);
  }

  std::unique_ptr<PooledRegion> Take(RegionPool& pool, uint64_t bytes) {
    auto region = pool.Take(bytes, [this](uint64_t size) { return Make(size); });
    EXPECT_TRUE(region.ok()) << region.status();
    return *std::move(region);
  }
  static void GiveBack(std::unique_ptr<PooledRegion> region) { region->MarkReusable(); }

  int made_ = 0;
  std::vector<std::string> ended_;
};

TEST_F(RegionPoolTest, WhatIsGivenBackIsUsedAgain) {
  RegionPool pool(64 * kKiB);
  auto first = Take(pool, 4 * kKiB);
  EXPECT_EQ(first->region().id(), "1");
  EXPECT_EQ(Take(pool, 4 * kKiB)->region().id(), "2") << "while that is in use";
  GiveBack(std::move(first));
  EXPECT_EQ(Take(pool, 3 * kKiB)->region().id(), "1");
}

TEST_F(RegionPoolTest, WhatMayStillBeInUseEndsWithItsLoan) {
  RegionPool pool(64 * kKiB);
  Take(pool, 4 * kKiB).reset();
  EXPECT_THAT(ended_, ElementsAre("1"));
  EXPECT_EQ(Take(pool, 4 * kKiB)->region().id(), "2");
}

TEST_F(RegionPoolTest, SmallRequestsTakeNoLargeRegions) {
  RegionPool pool(64 * kKiB);
  GiveBack(Take(pool, 32 * kKiB));
  EXPECT_EQ(Take(pool, 4 * kKiB)->region().id(), "2");
  EXPECT_EQ(Take(pool, 16 * kKiB)->region().id(), "1") << "half of it is used";
}

TEST_F(RegionPoolTest, IdleOnesMakeRoomTheLongestIdleFirst) {
  RegionPool pool(9 * kKiB);
  auto first = Take(pool, 4 * kKiB);
  auto second = Take(pool, 2 * kKiB);
  auto third = Take(pool, 2 * kKiB);
  GiveBack(std::move(second));
  GiveBack(std::move(third));
  GiveBack(std::move(first));
  const auto large = Take(pool, 5 * kKiB);
  EXPECT_THAT(ended_, ElementsAre("2", "3")) << "the last one may stay";
  EXPECT_EQ(large->region().id(), "4");
}

TEST_F(RegionPoolTest, LoansLeaveNoRoom) {
  RegionPool pool(8 * kKiB);
  auto large = Take(pool, 7 * kKiB);
  EXPECT_EQ(Take(pool, 2 * kKiB), nullptr);
  EXPECT_EQ(Take(pool, 9 * kKiB), nullptr) << "more than there ever is";
  EXPECT_EQ(made_, 1);
  GiveBack(std::move(large));
  EXPECT_NE(Take(pool, 2 * kKiB), nullptr);
}

TEST_F(RegionPoolTest, ThereAreSoManyRegions) {
  RegionPool pool(uint64_t{1} << 30);
  std::vector<std::unique_ptr<PooledRegion>> loans;
  for (size_t i = 0; i < RegionPool::kMostRegions; ++i) loans.push_back(Take(pool, kKiB));
  EXPECT_EQ(Take(pool, kKiB), nullptr);
  GiveBack(std::move(loans.back()));
  loans.pop_back();
  EXPECT_NE(Take(pool, 100 * kKiB), nullptr) << "an idle one makes room";
}

TEST_F(RegionPoolTest, WhatCannotBeMadeTakesNoRoom) {
  RegionPool pool(8 * kKiB);
  for (int i = 0; i < 3; ++i) {
    const auto region =
        pool.Take(8 * kKiB, [](uint64_t) { return absl::ResourceExhaustedError("enough"); });
    EXPECT_TRUE(absl::IsResourceExhausted(region.status()));
  }
  EXPECT_NE(Take(pool, 8 * kKiB), nullptr);
}

TEST_F(RegionPoolTest, ClearEndsWhatIsIdle) {
  RegionPool pool(8 * kKiB);
  auto in_use = Take(pool, kKiB);
  GiveBack(Take(pool, kKiB));
  pool.Clear();
  EXPECT_THAT(ended_, ElementsAre("2"));
  GiveBack(std::move(in_use));
  EXPECT_EQ(Take(pool, kKiB)->region().id(), "1");
}

TEST_F(RegionPoolTest, LoansOutliveThePool) {
  auto pool = std::make_unique<RegionPool>(8 * kKiB);
  auto region = Take(*pool, kKiB);
  pool.reset();
  EXPECT_THAT(ended_, IsEmpty());
  GiveBack(std::move(region));
  EXPECT_THAT(ended_, ElementsAre("1"));
}

}  // namespace
}  // namespace opserve::client_internal
