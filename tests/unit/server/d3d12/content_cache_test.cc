// ContentCache: what is kept, what is dropped, and that nothing is dropped that is in use.

#include "server/d3d12/content_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/unit/server/d3d12/fake_buffer.h"

namespace opserve::d3d12 {
namespace {

using testing::FakeBuffer;

constexpr uint64_t kUnit = kMinBufferBytes;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// A budget of ten units.
class ContentCacheTest : public ::testing::Test {
 protected:
  using Cache = ContentCache<FakeBuffer>;

  // Keeps a copy of so many bytes. False if there is no room.
  bool Keep(ContentId content, uint64_t bytes = kUnit) {
    const Cache::Share copy = cache_.Prepare(bytes);
    if (copy == nullptr) return false;
    cache_.Keep(content, copy);
    return true;
  }
  bool Has(ContentId content, uint64_t bytes = kUnit) {
    return cache_.Find(content, bytes) != nullptr;
  }

  std::atomic<uint64_t> live_ = 0;  // bytes
  bool is_short_ = false;
  BufferPool<FakeBuffer> pool_{10 * kUnit, [this](uint64_t bytes) -> absl::StatusOr<FakeBuffer> {
                                 // The device has room for five units of other buffers.
                                 if (is_short_ && live_ + bytes > 5 * kUnit) {
                                   return absl::ResourceExhaustedError("no memory");
                                 }
                                 return FakeBuffer(bytes, live_);
                               }};
  Cache cache_{pool_};
};

TEST_F(ContentCacheTest, FindsWhatIsKept) {
  EXPECT_FALSE(Has(7));
  EXPECT_TRUE(Keep(7));
  EXPECT_TRUE(Has(7));
  EXPECT_FALSE(Has(8));
  EXPECT_EQ(cache_.bytes(), kUnit);
}

TEST_F(ContentCacheTest, NothingIsKeptBeforeItIsSaidTo) {
  const Cache::Share copy = cache_.Prepare(kUnit);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(cache_.bytes(), 0u);
}

TEST_F(ContentCacheTest, ACopyServesForTheBytesThatItHas) {
  ASSERT_TRUE(Keep(7, 100));
  EXPECT_TRUE(Has(7, 99));
  EXPECT_FALSE(Has(7, 101));
  ASSERT_TRUE(Keep(7, 2 * kUnit));
  EXPECT_TRUE(Has(7, 101));
  EXPECT_EQ(cache_.bytes(), 2 * kUnit);
  // A shorter one does not take the place of a longer one.
  ASSERT_TRUE(Keep(7, 50));
  EXPECT_TRUE(Has(7, 101));
  EXPECT_EQ(cache_.bytes(), 2 * kUnit);
  EXPECT_EQ(cache_.evictions(), 0u);
}

TEST_F(ContentCacheTest, NothingTakesTheRoomOfWhatIsHeld) {
  const Cache::Share held = cache_.PrepareHeld(kUnit);
  ASSERT_NE(held, nullptr);
  cache_.Keep(100, held);
  for (ContentId content = 1; content <= 20; ++content) ASSERT_TRUE(Keep(content));
  cache_.Drop(100);
  cache_.SetBudget(2 * kUnit);
  EXPECT_TRUE(Has(100));
  cache_.SetBudget(10 * kUnit);
}

TEST_F(ContentCacheTest, WhatIsReleasedIsLikeAllOthers) {
  Cache::Share held = cache_.PrepareHeld(kUnit);
  ASSERT_NE(held, nullptr);
  cache_.Keep(100, std::move(held));
  cache_.Release(100);
  EXPECT_TRUE(Has(100));
  for (ContentId content = 1; content <= 10; ++content) ASSERT_TRUE(Keep(content));
  EXPECT_FALSE(Has(100));
}

TEST_F(ContentCacheTest, HalfOfTheBudgetMayBeHeld) {
  std::vector<Cache::Share> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(cache_.PrepareHeld(kUnit));
    EXPECT_NE(held.back(), nullptr);
  }
  EXPECT_EQ(cache_.PrepareHeld(kUnit), nullptr);
  // What is kept does not count any more once it is released, nor does what never was kept.
  cache_.Keep(7, held[0]);
  cache_.Release(7);
  const Cache::Share one_more = cache_.PrepareHeld(kUnit);
  EXPECT_NE(one_more, nullptr);
  EXPECT_EQ(cache_.PrepareHeld(kUnit), nullptr);
  held.pop_back();
  EXPECT_NE(cache_.PrepareHeld(kUnit), nullptr);
}

// It has no room for a slab, of which half of it would be too little.
TEST_F(ContentCacheTest, SmallCopiesThatAreHeldShareTheBuffersOfALittleBudget) {
  std::vector<Cache::Share> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(cache_.PrepareHeld(kUnit / 4));
    EXPECT_NE(held.back(), nullptr);
  }
  EXPECT_EQ(live_, 5 * kUnit);
  EXPECT_EQ(cache_.PrepareHeld(kUnit / 4), nullptr);
  EXPECT_TRUE(cache_.Acquire(5 * kUnit).ok());
}

TEST_F(ContentCacheTest, TheLeastRecentlyUsedMakesRoom) {
  for (ContentId content = 1; content <= 10; ++content) ASSERT_TRUE(Keep(content));
  EXPECT_TRUE(Has(1));
  ASSERT_TRUE(Keep(11));
  EXPECT_FALSE(Has(2));
  for (const ContentId content : {1, 3, 10, 11}) EXPECT_TRUE(Has(content)) << content;
  EXPECT_EQ(cache_.evictions(), 1u);
  EXPECT_EQ(cache_.bytes(), 10 * kUnit);
  EXPECT_EQ(live_, 10 * kUnit);
}

TEST_F(ContentCacheTest, CopiesMakeRoomForSubmissions) {
  for (ContentId content = 1; content <= 10; ++content) ASSERT_TRUE(Keep(content));
  const auto lease = cache_.Acquire(4 * kUnit);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(cache_.evictions(), 4u);
  EXPECT_FALSE(Has(4));
  EXPECT_TRUE(Has(5));
  EXPECT_LE(live_, 10 * kUnit);
}

TEST_F(ContentCacheTest, WhatIsInUseStays) {
  ASSERT_TRUE(Keep(1));
  const Cache::Share used = cache_.Find(1, kUnit);
  for (ContentId content = 2; content <= 10; ++content) ASSERT_TRUE(Keep(content));
  // Nine of ten units may go.
  const auto lease = cache_.Acquire(8 * kUnit);
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE(Has(1));
  EXPECT_EQ(cache_.evictions(), 8u);
  const Cache::Share other = cache_.Find(10, kUnit);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(cache_.Prepare(kUnit), nullptr);
  EXPECT_TRUE(Has(1) && Has(10));
}

TEST_F(ContentCacheTest, NothingIsDroppedForWhatCannotFitAnyway) {
  for (ContentId content = 1; content <= 4; ++content) ASSERT_TRUE(Keep(content));
  EXPECT_FALSE(Keep(5, 11 * kUnit));
  const auto lease = cache_.Acquire(6 * kUnit);
  ASSERT_TRUE(lease.ok());
  EXPECT_FALSE(Keep(5, 5 * kUnit));
  EXPECT_EQ(cache_.Acquire(5 * kUnit).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(cache_.evictions(), 0u);
}

TEST_F(ContentCacheTest, DroppedBuffersServeOthers) {
  ASSERT_TRUE(Keep(1));
  ASSERT_TRUE(Keep(2));
  const Cache::Share used = cache_.Find(2, kUnit);
  cache_.Drop(1);
  cache_.Drop(2);
  cache_.Drop(3);
  EXPECT_FALSE(Has(1) || Has(2));
  EXPECT_EQ(cache_.bytes(), 0u);
  // That of the first one; the other one is still read.
  ASSERT_TRUE(Keep(4));
  EXPECT_EQ(live_, 2 * kUnit);
  EXPECT_EQ(cache_.evictions(), 0u);
}

// The budget is larger than the memory.
TEST_F(ContentCacheTest, CopiesGoWhereTheDeviceHasNoMemory) {
  is_short_ = true;
  for (ContentId content = 1; content <= 5; ++content) ASSERT_TRUE(Keep(content));
  const auto lease = cache_.Acquire(2 * kUnit);
  ASSERT_TRUE(lease.ok()) << lease.status();
  // A buffer is freed with the first try after its copy was dropped.
  EXPECT_EQ(cache_.evictions(), 3u);
}

// A budget of four slabs.
class ContentSlabsTest : public ::testing::Test {
 protected:
  using Cache = ContentCache<FakeBuffer>;

  bool Keep(ContentId content, uint64_t bytes) {
    const Cache::Share copy = cache_.Prepare(bytes);
    if (copy == nullptr) return false;
    cache_.Keep(content, copy);
    return true;
  }
  // Keeps a copy that is held.
  bool KeepHeld(ContentId content, uint64_t bytes) {
    const Cache::Share copy = cache_.PrepareHeld(bytes);
    if (copy == nullptr) return false;
    cache_.Keep(content, copy);
    return true;
  }
  bool Has(ContentId content) { return cache_.Find(content, 1) != nullptr; }

  std::atomic<uint64_t> live_ = 0;  // bytes
  int made_ = 0;
  BufferPool<FakeBuffer> pool_{4 * kSlabBytes,
                               [this](uint64_t bytes) -> absl::StatusOr<FakeBuffer> {
                                 ++made_;
                                 return FakeBuffer(bytes, live_);
                               }};
  Cache cache_{pool_};
};

// In a buffer each they would take 640 MiB.
TEST_F(ContentSlabsTest, TenThousandSmallCopiesTakeOneBuffer) {
  for (ContentId content = 1; content <= 10000; ++content) ASSERT_TRUE(Keep(content, 4096));
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(live_, kSlabBytes);
  EXPECT_EQ(pool_.total_bytes(), kSlabBytes);
  EXPECT_EQ(cache_.bytes(), 10000u * 4096);
  EXPECT_EQ(cache_.evictions(), 0u);
}

TEST_F(ContentSlabsTest, NewCopiesTakeThePlacesOfTheLeastRecentlyUsed) {
  constexpr ContentId kAll = 4 * kSlabBytes / 65536;
  for (ContentId content = 1; content <= kAll; ++content) ASSERT_TRUE(Keep(content, 65536));
  // One that is read in each slab, as by a submission that makes others.
  std::vector<Cache::Share> read;
  for (ContentId content = 5; content <= kAll; content += kAll / 4) {
    read.push_back(cache_.Find(content, 1));
  }
  ASSERT_TRUE(Keep(kAll + 1, 65536));
  EXPECT_EQ(cache_.evictions(), 1u);
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Has(2));
  // Three that lie together.
  ASSERT_TRUE(Keep(kAll + 2, 3 * 65536));
  EXPECT_EQ(made_, 4);
}

// Not the copies that happen to be older, one of each slab.
TEST_F(ContentSlabsTest, ASlabLeavesForABuffer) {
  constexpr uint64_t kBytes = kSlabBytes / 8;
  for (ContentId content = 1; content <= 32; ++content) ASSERT_TRUE(Keep(content, kBytes));
  for (const ContentId content : {3, 12, 20, 28}) EXPECT_TRUE(Has(content));
  {
    const auto lease = cache_.Acquire(kSlabBytes);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(cache_.evictions(), 8u);
    EXPECT_FALSE(Has(3));
    EXPECT_TRUE(Has(9));
    EXPECT_EQ(cache_.bytes(), 3 * kSlabBytes);
  }
  // The slabs of copies that are read cannot.
  const Cache::Share second = cache_.Find(9, 1);
  const Cache::Share third = cache_.Find(17, 1);
  EXPECT_TRUE(cache_.Acquire(2 * kSlabBytes).ok());
  EXPECT_FALSE(Has(25));
  EXPECT_EQ(cache_.Acquire(3 * kSlabBytes).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Has(9) && Has(10) && Has(17));
}

TEST_F(ContentSlabsTest, ASmallerBudgetHasTheLeastRecentlyUsedSlabsGo) {
  for (ContentId content = 1; content <= 32; ++content) ASSERT_TRUE(Keep(content, kSlabBytes / 8));
  for (ContentId content = 1; content <= 8; ++content) ASSERT_TRUE(Has(content));
  cache_.SetBudget(2 * kSlabBytes + kMinBufferBytes);
  EXPECT_EQ(live_, 2 * kSlabBytes);
  EXPECT_EQ(cache_.evictions(), 16u);
  EXPECT_TRUE(Has(1) && Has(25));
  EXPECT_FALSE(Has(9) || Has(24));
  // There is no room for a third slab, until the budget grows again.
  ASSERT_TRUE(Keep(33, kSlabBytes / 8));
  EXPECT_EQ(cache_.evictions(), 17u);
  cache_.SetBudget(4 * kSlabBytes);
  ASSERT_TRUE(Keep(34, kSlabBytes / 8));
  EXPECT_EQ(live_, 3 * kSlabBytes);
}

TEST_F(ContentSlabsTest, WhatIsReadOutlivesItsBudget) {
  for (ContentId content = 1; content <= 16; ++content) ASSERT_TRUE(Keep(content, kSlabBytes / 8));
  Cache::Share read = cache_.Find(1, 1);
  cache_.SetBudget(kMinBufferBytes);
  EXPECT_EQ(live_, kSlabBytes);
  EXPECT_TRUE(Has(1));
  EXPECT_FALSE(Has(9));
  read = nullptr;
  cache_.SetBudget(kMinBufferBytes);
  EXPECT_EQ(live_, 0u);
}

// The slab of a copy that is held cannot leave, whatever else is in it.
TEST_F(ContentSlabsTest, SubmissionsFindHalfOfTheBudget) {
  ContentId content = 0;
  for (int slab = 0; slab < 3; ++slab) {
    ASSERT_TRUE(KeepHeld(++content, kMiB));
    for (int i = 0; i < 63; ++i) ASSERT_TRUE(Keep(++content, kMiB));
  }
  const auto lease = cache_.Acquire(2 * kSlabBytes);
  ASSERT_TRUE(lease.ok()) << lease.status();
  for (const ContentId held : {1, 65, 129}) EXPECT_TRUE(Has(held)) << held;
}

TEST_F(ContentSlabsTest, HalfOfTheBudgetMayBeHeldBesideOthers) {
  for (ContentId content = 1; content <= 256; ++content) ASSERT_TRUE(Keep(content, kMiB));
  for (ContentId content = 1001; content <= 1128; ++content) ASSERT_TRUE(KeepHeld(content, kMiB));
  EXPECT_FALSE(KeepHeld(1129, kMiB));
  EXPECT_EQ(cache_.evictions(), 128u);
  EXPECT_EQ(made_, 4);
  EXPECT_TRUE(cache_.Acquire(2 * kSlabBytes).ok());
  // Once one of them is released it is its place that the next one takes.
  cache_.Release(1001);
  EXPECT_TRUE(KeepHeld(1129, kMiB));
  EXPECT_FALSE(Has(1001));
}

// There is a slab, and it would be too much to hold.
TEST_F(ContentSlabsTest, ALittleBudgetHoldsSome) {
  cache_.SetBudget(kSlabBytes + kSlabBytes / 2);
  for (ContentId content = 1; content <= 64; ++content) ASSERT_TRUE(Keep(content, kMiB));
  for (ContentId content = 1001; content <= 1048; ++content) ASSERT_TRUE(KeepHeld(content, kMiB));
  EXPECT_FALSE(KeepHeld(1049, kMiB));
  EXPECT_TRUE(cache_.Acquire(kSlabBytes / 4 * 3).ok());
  for (ContentId content = 1001; content <= 1048; ++content) EXPECT_TRUE(Has(content));
}

// As no slab has room for it. Nothing leaves for one that may not be held.
TEST_F(ContentSlabsTest, SlabsLeaveForALargeCopyThatIsHeld) {
  for (ContentId content = 1; content <= 32; ++content) ASSERT_TRUE(Keep(content, kSlabBytes / 8));
  EXPECT_FALSE(KeepHeld(100, 2 * kSlabBytes + 1));
  EXPECT_EQ(cache_.evictions(), 0u);
  EXPECT_TRUE(KeepHeld(100, 2 * kSlabBytes));
  EXPECT_EQ(cache_.evictions(), 16u);
  EXPECT_FALSE(KeepHeld(101, 1));
  EXPECT_EQ(cache_.evictions(), 16u);
}

TEST_F(ContentSlabsTest, HoldsForManyThreads) {
  std::vector<std::thread> threads;
  for (const ContentId first : {1000, 2000, 3000, 4000}) {
    threads.emplace_back([this, first] {
      for (ContentId content = first; content < first + 500; ++content) {
        KeepHeld(content, 2 * kMiB);
        Keep(content + 10000, kMiB);
        if (content % 3 != 0) cache_.Release(content);
        if (content % 2 != 0) cache_.Release(content - 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(cache_.Acquire(2 * kSlabBytes).ok());
  for (ContentId content = 1000; content < 5000; ++content) cache_.Release(content);
  EXPECT_TRUE(cache_.Acquire(4 * kSlabBytes).ok());
}

TEST_F(ContentCacheTest, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (ContentId first : {1, 2, 3, 4}) {
    threads.emplace_back([this, first] {
      for (ContentId i = 0; i < 500; ++i) {
        const ContentId content = (first * i) % 16 + 1;
        const Cache::Share copy = cache_.Find(content, kUnit);
        if (copy == nullptr) Keep(content);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(live_, 10 * kUnit);
  // Where two threads made a copy of one content, the buffer of one of them is free.
  EXPECT_LE(cache_.bytes(), live_);
}

}  // namespace
}  // namespace opserve::d3d12
