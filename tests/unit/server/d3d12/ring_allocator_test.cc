#include "server/d3d12/ring_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace opserve::d3d12 {
namespace {

TEST(RingAllocatorTest, TakesRangesInOrder) {
  RingAllocator ring(1024, 256);
  EXPECT_EQ(ring.Allocate(1), 0u);
  EXPECT_EQ(ring.Allocate(257), 256u);
  EXPECT_EQ(ring.Allocate(256), 768u);
  EXPECT_EQ(ring.Allocate(1), std::nullopt);
  EXPECT_EQ(ring.used(), 1024u);
}

TEST(RingAllocatorTest, SkipsAnEndThatIsTooShort) {
  RingAllocator ring(1024, 256);
  EXPECT_EQ(ring.Allocate(512), 0u);
  EXPECT_EQ(ring.Allocate(256), 512u);
  ring.Release(0);
  EXPECT_EQ(ring.Allocate(512), 0u);  // 256 bytes at the end are skipped
  EXPECT_EQ(ring.Allocate(1), std::nullopt);
}

TEST(RingAllocatorTest, SpaceWaitsForOlderRanges) {
  RingAllocator ring(1024, 256);
  const auto first = ring.Allocate(512);
  const auto second = ring.Allocate(512);
  ring.Release(*second);
  EXPECT_EQ(ring.Allocate(256), std::nullopt);
  ring.Release(*first);
  EXPECT_EQ(ring.used(), 0u);
  EXPECT_EQ(ring.Allocate(1024), 0u);
}

TEST(RingAllocatorTest, RefusesNothingAndTooMuch) {
  RingAllocator ring(1024, 256);
  EXPECT_EQ(ring.Allocate(0), std::nullopt);
  EXPECT_EQ(ring.Allocate(1025), std::nullopt);
  EXPECT_EQ(ring.Allocate(UINT64_MAX), std::nullopt);
}

// Ranges never overlap, are aligned and inside; an empty ring takes everything.
TEST(RingAllocatorTest, HoldsUnderRandomUse) {
  constexpr uint64_t kCapacity = 16384;
  constexpr uint64_t kAlignment = 64;
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    RingAllocator ring(kCapacity, kAlignment);
    std::map<uint64_t, uint64_t> live;  // bytes by offset
    for (int step = 0; step < 2000; ++step) {
      if (random() % 2 == 0) {
        const uint64_t bytes = 1 + random() % (random() % 10 == 0 ? kCapacity : 1000);
        const auto offset = ring.Allocate(bytes);
        if (!offset) {
          ASSERT_FALSE(live.empty()) << bytes;
          continue;
        }
        ASSERT_EQ(*offset % kAlignment, 0u);
        ASSERT_LE(*offset + bytes, kCapacity);
        const auto next = live.lower_bound(*offset);
        if (next != live.end()) {
          ASSERT_LE(*offset + bytes, next->first);
        }
        if (next != live.begin()) {
          const auto before = std::prev(next);
          ASSERT_LE(before->first + before->second, *offset);
        }
        live[*offset] = bytes;
      } else if (!live.empty()) {
        const auto any = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
        ring.Release(any->first);
        live.erase(any);
      }
      ASSERT_LE(ring.used(), kCapacity);
    }
    for (const auto& [offset, bytes] : live) ring.Release(offset);
    EXPECT_EQ(ring.used(), 0u);
    EXPECT_EQ(ring.Allocate(kCapacity), 0u);
  }
}

}  // namespace
}  // namespace opserve::d3d12
