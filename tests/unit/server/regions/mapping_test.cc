// Mappings that cannot kill the process, and the rules for what may be mapped.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/regions/guarded_mapping.h"
#include "server/regions/region.h"
#include "server/regions/region_table.h"
#include "tests/testing/region_client.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPage = 4096;
constexpr RegionCaller kCaller = {"10.0.0.7"};

TEST(GuardedMappingTest, SharesTheFilesBytes) {
  const SharedMemory memory(2 * kPage);
  const auto mapping = GuardedMapping::Map(memory.fd().get(), 2 * kPage);
  ASSERT_TRUE(mapping.ok());
  memory.data()[kPage] = std::byte{7};
  EXPECT_EQ((*mapping)->data()[kPage], std::byte{7});
  (*mapping)->data()[1] = std::byte{9};
  EXPECT_EQ(memory.data()[1], std::byte{9});
  EXPECT_FALSE((*mapping)->is_cut_off());
}

TEST(GuardedMappingTest, ReadsZerosWhereTheFileWasCutOff) {
  const UniqueFd fd = MakeMemfd(4 * kPage, 0);
  const auto mapping = GuardedMapping::Map(fd.get(), 4 * kPage);
  ASSERT_TRUE(mapping.ok());
  volatile char* const data = reinterpret_cast<char*>((*mapping)->data());
  data[3 * kPage] = 7;
  ASSERT_EQ(ftruncate(fd.get(), kPage), 0);
  EXPECT_EQ(data[3 * kPage], 0);
  EXPECT_TRUE((*mapping)->is_cut_off());
  data[2 * kPage] = 1;
  EXPECT_EQ(data[2 * kPage], 1);
}

TEST(GuardedMappingTest, SurvivesWhereManyThreadsTouchWhatIsGone) {
  const UniqueFd fd = MakeMemfd(64 * kPage, 0);
  const auto mapping = GuardedMapping::Map(fd.get(), 64 * kPage);
  ASSERT_TRUE(mapping.ok());
  ASSERT_EQ(ftruncate(fd.get(), 0), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      volatile char* const data = reinterpret_cast<char*>((*mapping)->data());
      for (int page = t; page < 64; page += 4) data[page * kPage] = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE((*mapping)->is_cut_off());
}

TEST(GuardedMappingTest, OneBrokenMappingLeavesOthersAlone) {
  const UniqueFd broken_fd = MakeMemfd(kPage, 0);
  const SharedMemory memory(kPage);
  const auto broken = GuardedMapping::Map(broken_fd.get(), kPage);
  const auto sound = GuardedMapping::Map(memory.fd().get(), kPage);
  ASSERT_TRUE(broken.ok() && sound.ok());
  memory.data()[0] = std::byte{5};
  ASSERT_EQ(ftruncate(broken_fd.get(), 0), 0);
  volatile char* const data = reinterpret_cast<char*>((*broken)->data());
  EXPECT_EQ(data[0], 0);
  EXPECT_EQ((*sound)->data()[0], std::byte{5});
  EXPECT_FALSE((*sound)->is_cut_off());
}

TEST(GuardedMappingDeathTest, PassesOnWhatIsNotItsOwn) {
  const UniqueFd fd = MakeMemfd(kPage, 0);
  ASSERT_TRUE(GuardedMapping::Map(fd.get(), kPage).ok());
  auto* const data = static_cast<volatile char*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_EQ(ftruncate(fd.get(), 0), 0);
  EXPECT_DEATH(data[0] = 1, "");
}

TEST(RegionTest, MapsASealedMemfd) {
  const SharedMemory memory(100);
  memory.data()[99] = std::byte{3};
  const auto region = Region::Map(memory.fd(), 100);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ((*region)->bytes(), 100);
  EXPECT_EQ(*(*region)->At(99, 1), std::byte{3});
}

TEST(RegionTest, SharesPartOfAMemfd) {
  const SharedMemory memory(3 * kPage);
  const auto region = Region::Map(memory.fd(), kPage + 1);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ((*region)->bytes(), kPage + 1);
  EXPECT_EQ((*region)->At(kPage, 2), nullptr);
}

TEST(RegionTest, RefusesSizesOutsideTheMemfd) {
  const UniqueFd fd = MakeMemfd(100);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{101}, UINT64_MAX}) {
    const auto region = Region::Map(fd, bytes);
    EXPECT_EQ(ReasonOf(region.status()), "INVALID_REQUEST") << bytes;
    EXPECT_THAT(std::string(region.status().message()), HasSubstr("register.bytes"));
  }
}

TEST(RegionTest, RefusesMissingSeals) {
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL}) {
    const auto region = Region::Map(MakeMemfd(100, seals), 100);
    EXPECT_EQ(ReasonOf(region.status()), "INVALID_REQUEST") << seals;
    EXPECT_THAT(std::string(region.status().message()), HasSubstr("lacks the seals")) << seals;
  }
}

TEST(RegionTest, RefusesWhatIsNoMemfd) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  for (const UniqueFd* fd : {&reader, &file}) {
    const auto region = Region::Map(*fd, 100);
    EXPECT_EQ(ReasonOf(region.status()), "INVALID_REQUEST");
    EXPECT_THAT(std::string(region.status().message()), HasSubstr("it is no memfd"));
  }
}

TEST(RegionTest, RefusesWhatItMayNotWriteTo) {
  const UniqueFd fd = MakeMemfd(100);
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  const UniqueFd read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(read_only);
  const UniqueFd sealed = MakeMemfd(100, kRegionSeals | F_SEAL_WRITE);
  for (const UniqueFd* each : {&read_only, &sealed}) {
    const auto region = Region::Map(*each, 100);
    EXPECT_EQ(ReasonOf(region.status()), "INVALID_REQUEST");
    EXPECT_THAT(std::string(region.status().message()), HasSubstr("may not be written to"));
  }
}

// The seals do not forbid to free pages; they come back as zeros.
TEST(RegionTest, FreedPagesReadAsZeros) {
  const SharedMemory memory(2 * kPage);
  std::memset(memory.data(), 1, 2 * kPage);
  const auto region = Region::Map(memory.fd(), 2 * kPage);
  ASSERT_TRUE(region.ok());
  ASSERT_EQ(fallocate(memory.fd().get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  EXPECT_EQ(*(*region)->At(0, 1), std::byte{0});
  EXPECT_EQ(*(*region)->At(kPage, 1), std::byte{1});
}

// A program that shares a file of holes makes the server take no memory for it.
TEST(RegionTest, TakesNoPagesBeforeTheyAreUsed) {
  const UniqueFd fd = MakeMemfd(16 * kPage);
  struct stat before = {};
  struct stat after = {};
  ASSERT_EQ(fstat(fd.get(), &before), 0);
  const auto region = Region::Map(fd, 16 * kPage);
  ASSERT_TRUE(region.ok());
  ASSERT_EQ(fstat(fd.get(), &before), 0);
  *(*region)->At(kPage, 1) = std::byte{1};
  ASSERT_EQ(fstat(fd.get(), &after), 0);
  EXPECT_EQ(before.st_blocks, 0);
  EXPECT_EQ(after.st_blocks * 512, kPage);
}

TEST(RegionTest, GivesOnlyRangesWithin) {
  const auto region = Region::Map(MakeMemfd(100), 100);
  ASSERT_TRUE(region.ok());
  const Region& r = **region;
  EXPECT_EQ(r.At(0, 100), r.At(0, 0));
  EXPECT_EQ(r.At(60, 40), r.At(0, 0) + 60);
  EXPECT_NE(r.At(100, 0), nullptr);
  EXPECT_EQ(r.At(61, 40), nullptr);
  EXPECT_EQ(r.At(101, 0), nullptr);
  EXPECT_EQ(r.At(1, UINT64_MAX), nullptr);
  EXPECT_EQ(r.At(UINT64_MAX, 1), nullptr);
  EXPECT_EQ(r.At(UINT64_MAX, UINT64_MAX), nullptr);
}

TEST(RegionTest, KnowsOverlapsAlsoThroughAnotherRegion) {
  const UniqueFd fd = MakeMemfd(100);
  const std::shared_ptr<const Region> a = *Region::Map(fd, 100);
  const std::shared_ptr<const Region> again = *Region::Map(fd, 80);
  const std::shared_ptr<const Region> other = *Region::Map(MakeMemfd(100), 100);
  EXPECT_TRUE(Overlap({a, 0, 10}, {a, 9, 10}));
  EXPECT_TRUE(Overlap({a, 9, 10}, {again, 0, 10}));
  EXPECT_FALSE(Overlap({a, 0, 10}, {again, 10, 10}));
  EXPECT_FALSE(Overlap({a, 10, 10}, {a, 0, 10}));
  EXPECT_FALSE(Overlap({a, 0, 10}, {other, 0, 10}));
  EXPECT_TRUE(AreSame({a, 4, 10}, {again, 4, 10}));
  EXPECT_FALSE(AreSame({a, 4, 10}, {a, 4, 11}));
  EXPECT_FALSE(AreSame({a, 4, 10}, {other, 4, 10}));
}

TEST(RegionTableTest, FindsWhatWasAdded) {
  RegionTable table({});
  const auto first = table.Add({1}, MakeMemfd(100), 100);
  const auto second = table.Add({1}, MakeMemfd(200), 200);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_EQ(first->size(), 32);
  EXPECT_EQ(table.Find(*first, kCaller)->bytes(), 100);
  EXPECT_EQ(table.Find(*second, kCaller)->bytes(), 200);
  EXPECT_EQ(table.Find("x", kCaller), nullptr);
  EXPECT_EQ(table.Find("", kCaller), nullptr);
}

TEST(RegionTableTest, RemovesOnlyForItsOwner) {
  RegionTable table({});
  const std::string id = *table.Add({1}, MakeMemfd(100), 100);
  EXPECT_EQ(ReasonOf(table.Remove({2}, id)), "REGION_NOT_FOUND");
  EXPECT_NE(table.Find(id, kCaller), nullptr);
  EXPECT_TRUE(table.Remove({1}, id).ok());
  EXPECT_EQ(table.Find(id, kCaller), nullptr);
  EXPECT_EQ(ReasonOf(table.Remove({1}, id)), "REGION_NOT_FOUND");
}

TEST(RegionTableTest, RemovedRegionsStayMappedWhileTheyAreUsed) {
  const SharedMemory memory(100);
  RegionTable table({});
  const std::string id = *table.Add({1}, memory.fd(), 100);
  const std::shared_ptr<const Region> used = table.Find(id, kCaller);
  table.RemoveAll({1});
  EXPECT_EQ(table.Find(id, kCaller), nullptr);
  memory.data()[50] = std::byte{4};
  EXPECT_EQ(*used->At(50, 1), std::byte{4});
}

TEST(RegionTableTest, BoundsBytesAndRegionsPerOwner) {
  RegionTable table({.max_bytes = 100, .max_regions = 2});
  const std::string id = *table.Add({1}, MakeMemfd(60), 60);
  const auto too_large = table.Add({1}, MakeMemfd(41), 41);
  EXPECT_EQ(ReasonOf(too_large.status()), "REGION_QUOTA");
  EXPECT_TRUE(MayRetry(too_large.status()));
  EXPECT_EQ(ReasonOf(table.Add({2}, MakeMemfd(100), 100).status()), "OK");
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(1), 1).status()), "OK");
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(1), 1).status()), "REGION_QUOTA");
  EXPECT_TRUE(table.Remove({1}, id).ok());
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(99), 99).status()), "OK");
}

TEST(RegionTableTest, BoundsBytesPerUserAndOfAll) {
  RegionTable table({.max_bytes_per_user = 2 * kPage, .max_bytes_of_all = 3 * kPage});
  ASSERT_TRUE(table.Add({1, 7}, MakeMemfd(kPage), kPage).ok());
  // Whole pages count.
  ASSERT_TRUE(table.Add({2, 7}, MakeMemfd(kPage), 1).ok());
  EXPECT_EQ(table.charged_bytes(), 2 * kPage);
  const auto of_user = table.Add({3, 7}, MakeMemfd(kPage), 1);
  EXPECT_EQ(ReasonOf(of_user.status()), "REGION_QUOTA");
  EXPECT_THAT(std::string(of_user.status().message()), HasSubstr("User 7 has"));
  EXPECT_FALSE(table.HasAny({3, 7}));
  ASSERT_TRUE(table.Add({4, 8}, MakeMemfd(kPage), kPage).ok());
  const auto of_all = table.Add({4, 8}, MakeMemfd(kPage), kPage);
  EXPECT_EQ(ReasonOf(of_all.status()), "REGION_QUOTA");
  EXPECT_THAT(std::string(of_all.status().message()), HasSubstr("All users have"));
  table.RemoveAll({1, 7});
  EXPECT_TRUE(table.Add({4, 8}, MakeMemfd(kPage), kPage).ok());
}

TEST(RegionTableTest, AUserMayHaveMoreOrLessThanOthers) {
  RegionTable table({.max_bytes_per_user = 2 * kPage, .max_regions_per_user = 2});
  RegionOwner rich = {1, 7};
  rich.max_bytes_of_user = 3 * kPage;
  rich.max_regions_of_user = 3;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(table.Add(rich, MakeMemfd(1), 1).ok());
  EXPECT_EQ(ReasonOf(table.Add(rich, MakeMemfd(1), 1).status()), "REGION_QUOTA");
  RegionOwner poor = {2, 8};
  poor.max_bytes_of_user = kPage;
  EXPECT_TRUE(table.Add(poor, MakeMemfd(1), 1).ok());
  const absl::Status refused = table.Add(poor, MakeMemfd(1), 1).status();
  EXPECT_EQ(ReasonOf(refused), "REGION_QUOTA");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("quota of 4096"));
}

TEST(RegionTableTest, WhoIsNoConnectionIsHeldToTheLimitsOfTheUser) {
  RegionTable table({.max_bytes = kPage,
                     .max_regions = 1,
                     .max_bytes_per_user = 4 * kPage,
                     .max_regions_per_user = 3});
  const RegionOwner names = {.connection = 1, .user = 7, .is_connection = false};
  ASSERT_TRUE(table.Add(names, MakeMemfd(2 * kPage), 2 * kPage).ok());
  const std::string second = *table.Add(names, MakeMemfd(1), 1);
  for (const uint64_t bytes : {2 * kPage, uint64_t{1} << 63, UINT64_MAX}) {
    const absl::Status refused = table.Add(names, MakeMemfd(2 * kPage), bytes).status();
    EXPECT_EQ(ReasonOf(refused), "REGION_QUOTA") << bytes;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("User 7 has 12288 bytes")) << bytes;
  }
  ASSERT_TRUE(table.Add(names, MakeMemfd(1), 1).ok());
  const absl::Status refused = table.Add(names, MakeMemfd(1), 1).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("User 7 has 3 regions"));
  EXPECT_TRUE(table.Remove(names, second).ok());
  table.RemoveAll(names);
  EXPECT_FALSE(table.HasAny(names));
  EXPECT_EQ(table.charged_bytes(), 0u);
}

TEST(RegionTableTest, BoundsRegionsPerUser) {
  RegionTable table({.max_regions_per_user = 2});
  ASSERT_TRUE(table.Add({1, 7}, MakeMemfd(1), 1).ok());
  ASSERT_TRUE(table.Add({2, 7}, MakeMemfd(1), 1).ok());
  EXPECT_EQ(ReasonOf(table.Add({3, 7}, MakeMemfd(1), 1).status()), "REGION_QUOTA");
  EXPECT_TRUE(table.Add({4, 8}, MakeMemfd(1), 1).ok());
}

TEST(RegionTableTest, RemovedRegionsCountWhileTheyAreUsed) {
  RegionTable table({.max_bytes_per_user = kPage, .max_regions_per_user = 1});
  const std::string id = *table.Add({1}, MakeMemfd(kPage), kPage);
  std::shared_ptr<const Region> used = table.Find(id, kCaller);
  EXPECT_TRUE(table.Remove({1}, id).ok());
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(1), 1).status()), "REGION_QUOTA");
  used.reset();
  EXPECT_TRUE(table.Add({1}, MakeMemfd(1), 1).ok());
}

TEST(RegionTableTest, WhatCannotBeMappedTakesNoQuota) {
  RegionTable table({.max_bytes = 100, .max_regions = 1});
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(10), 11).status()), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(table.Add({1}, MakeMemfd(10), UINT64_MAX).status()), "REGION_QUOTA");
  EXPECT_TRUE(table.Add({1}, MakeMemfd(100), 100).ok());
}

TEST(RegionTableTest, TakesAllRegionsOfAnOwner) {
  RegionTable table({});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(table.Add({1}, MakeMemfd(10), 10).ok());
  const std::string other = *table.Add({2}, MakeMemfd(10), 10);
  table.RemoveAll({1});
  EXPECT_EQ(table.size(), 1);
  EXPECT_NE(table.Find(other, kCaller), nullptr);
}

TEST(RegionTableTest, ServesManyThreads) {
  RegionTable table({});
  std::vector<std::thread> threads;
  for (uint64_t owner = 1; owner <= 4; ++owner) {
    threads.emplace_back([&, owner] {
      for (int i = 0; i < 50; ++i) {
        const std::string id = *table.Add({owner}, MakeMemfd(kPage), kPage);
        const std::shared_ptr<const Region> region = table.Find(id, kCaller);
        if (i % 2 == 0) {
          EXPECT_TRUE(table.Remove({owner}, id).ok());
        } else {
          table.RemoveAll({owner});
        }
        *region->At(0, 1) = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 0);
}

}  // namespace
}  // namespace opserve::testing
