// FreeRanges against a plain list of bytes, and SlabPool: where parts are, and when slabs come and
// go.

#include "server/d3d12/slab_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/server/d3d12/fake_buffer.h"

namespace opserve::d3d12 {
namespace {

using testing::FakeBuffer;

TEST(FreeRangesTest, NoByteIsGivenOutTwiceAndNoneIsLost) {
  constexpr uint64_t kCapacity = 1000;
  FreeRanges ranges(kCapacity);
  std::vector<bool> is_taken(kCapacity);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  const auto mark = [&](uint64_t offset, uint64_t bytes, bool value) {
    for (uint64_t at = offset; at < offset + bytes; ++at) {
      ASSERT_NE(is_taken[at], value);
      is_taken[at] = value;
    }
  };
  const auto longest_run = [&] {
    uint64_t longest = 0;
    uint64_t run = 0;
    for (const bool each : is_taken) longest = std::max(longest, run = each ? 0 : run + 1);
    return longest;
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [offset, bytes] = taken.back();
      taken.pop_back();
      ranges.GiveBack(offset, bytes);
      mark(offset, bytes, false);
    } else {
      const uint64_t bytes = 1 + random() % 100;
      const std::optional<uint64_t> offset = ranges.Take(bytes);
      ASSERT_EQ(offset.has_value(), bytes <= longest_run());
      if (!offset) continue;
      ASSERT_LE(*offset + bytes, kCapacity);
      mark(*offset, bytes, true);
      taken.emplace_back(*offset, bytes);
    }
    const auto free = std::count(is_taken.begin(), is_taken.end(), false);
    ASSERT_EQ(ranges.free_bytes(), static_cast<uint64_t>(free));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// A budget of three slabs and a unit.
class SlabPoolTest : public ::testing::Test {
 protected:
  using Part = SlabPool<FakeBuffer>::Part;

  Part Take(uint64_t bytes) {
    absl::StatusOr<Part> part = slabs_.Acquire(bytes);
    EXPECT_TRUE(part.ok()) << part.status();
    return part.ok() ? *std::move(part) : Part();
  }

  std::atomic<uint64_t> live_ = 0;  // bytes
  std::atomic<int> made_ = 0;
  BufferPool<FakeBuffer> buffers_{3 * kSlabBytes + kMinBufferBytes,
                                  [this](uint64_t bytes) -> absl::StatusOr<FakeBuffer> {
                                    ++made_;
                                    return FakeBuffer(bytes, live_);
                                  }};
  SlabPool<FakeBuffer> slabs_{buffers_};
};

TEST_F(SlabPoolTest, PartsShareASlab) {
  std::vector<Part> parts;
  for (uint64_t i = 0; i < 1000; ++i) {
    parts.push_back(Take(1 + i));
    EXPECT_EQ(parts.back().slab(), parts.front().slab());
    EXPECT_EQ(parts.back().offset() % kPartAlignment, 0u);
    EXPECT_GE(parts.back().bytes(), 1 + i);
    if (i > 0) {
      EXPECT_GE(parts[i].offset(), parts[i - 1].offset() + parts[i - 1].bytes());
    }
  }
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(live_, kSlabBytes);
}

TEST_F(SlabPoolTest, ASlabGoesBackWithItsLastPart) {
  {
    const Part first = Take(1000);
    { const Part second = Take(1000); }
    EXPECT_EQ(buffers_.room(), 2 * kSlabBytes + kMinBufferBytes);
  }
  EXPECT_EQ(buffers_.room(), 3 * kSlabBytes + kMinBufferBytes);
  EXPECT_TRUE(slabs_.slabs().empty());
  // It serves the next part.
  const Part next = Take(1000);
  EXPECT_EQ(made_, 1);
}

TEST_F(SlabPoolTest, WhatIsLargeHasABufferOfItsOwn) {
  const Part small = Take(1000);
  const Part large = Take(kSlabBytes / 4 + 1);
  // It fits into the first slab, and goes there.
  EXPECT_EQ(large.slab(), small.slab());
  const Part larger = Take(kSlabBytes);
  EXPECT_NE(larger.slab(), small.slab());
  EXPECT_EQ(live_, 2 * kSlabBytes);
  EXPECT_EQ(slabs_.Acquire(4 * kSlabBytes).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SlabPoolTest, WhereThereIsNoRoomForASlabPartsHaveBuffersOfTheirOwn) {
  const auto others = buffers_.Acquire(3 * kSlabBytes);
  ASSERT_TRUE(others.ok());
  const Part part = Take(1000);
  EXPECT_EQ(live_, 3 * kSlabBytes + kMinBufferBytes);
  // What is left of it serves others.
  EXPECT_EQ(Take(1000).slab(), part.slab());
  EXPECT_EQ(slabs_.Acquire(kMinBufferBytes).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SlabPoolTest, TellsWhatIsInSlabs) {
  const Part first = Take(256);
  const Part second = Take(512);
  const auto slabs = slabs_.slabs();
  ASSERT_EQ(slabs.size(), 1u);
  EXPECT_EQ(slabs[0].slab, first.slab());
  EXPECT_EQ(slabs[0].bytes, kSlabBytes);
  EXPECT_EQ(slabs[0].free_bytes, kSlabBytes - 768);
  EXPECT_EQ(slabs[0].parts, 2u);
}

TEST_F(SlabPoolTest, ASlabCountsAsHeldWhileOneOfItsPartsIs) {
  const auto hold = [this](uint64_t bytes) { return slabs_.AcquireHeld(bytes, kSlabBytes); };
  const Part other = Take(1000);
  EXPECT_EQ(slabs_.held_bytes(), 0u);
  auto first = hold(1000);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->part.slab(), other.slab());
  EXPECT_EQ(slabs_.held_bytes(), kSlabBytes);
  EXPECT_EQ(slabs_.slabs()[0].held, 1u);
  {
    const auto second = hold(kSlabBytes / 2);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(slabs_.held_bytes(), kSlabBytes);
    // It would be in a second slab.
    EXPECT_EQ(hold(kSlabBytes / 2).status().code(), absl::StatusCode::kResourceExhausted);
  }
  first->hold = {};
  first = absl::CancelledError();
  EXPECT_EQ(slabs_.held_bytes(), 0u);
  EXPECT_TRUE(hold(kSlabBytes).ok());
  EXPECT_EQ(slabs_.held_bytes(), 0u);
}

TEST_F(SlabPoolTest, PartsThatAreHeldAreTogether) {
  std::vector<Part> others;
  for (int i = 0; i < 4; ++i) others.push_back(Take(kSlabBytes / 4));
  const auto held = slabs_.AcquireHeld(1000, 3 * kSlabBytes);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_NE(held->part.slab(), others.front().slab());
  others.pop_back();
  const auto another = slabs_.AcquireHeld(1000, 3 * kSlabBytes);
  ASSERT_TRUE(another.ok()) << another.status();
  EXPECT_EQ(another->part.slab(), held->part.slab());
  EXPECT_EQ(slabs_.held_bytes(), kSlabBytes);
  // What is not held is with others.
  EXPECT_EQ(Take(1000).slab(), others.front().slab());
}

TEST_F(SlabPoolTest, WhereAWholeSlabIsTooMuchToHoldPartsHaveBuffersOfTheirOwn) {
  const Part other = Take(1000);
  const auto held = slabs_.AcquireHeld(1000, kSlabBytes - 1);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_NE(held->part.slab(), other.slab());
  EXPECT_EQ(slabs_.held_bytes(), kMinBufferBytes);
}

TEST_F(SlabPoolTest, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([this, seed] {
      std::mt19937_64 random(seed);
      std::vector<Part> parts(20);
      for (int i = 0; i < 2000; ++i) parts[random() % 20] = Take(1 + random() % 100000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(slabs_.slabs().empty());
  EXPECT_EQ(buffers_.room(), 3 * kSlabBytes + kMinBufferBytes);
}

}  // namespace
}  // namespace opserve::d3d12
