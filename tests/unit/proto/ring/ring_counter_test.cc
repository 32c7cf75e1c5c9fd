#include "proto/ring/ring_counter.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace opserve {
namespace {

using std::chrono::microseconds;

TEST(RingCounterTest, LiesAsTheContractSays) {
  alignas(64) std::byte memory[kRingCounterBytes] = {};
  auto& counters = *new (memory) RingCounters;
  counters.filled.Publish(7);
  counters.emptied.Publish(9);
  uint32_t word = 0;
  std::memcpy(&word, memory, 4);
  EXPECT_EQ(word, 7u);
  std::memcpy(&word, memory + 64, 4);
  EXPECT_EQ(word, 9u);
  counters.filled.Reset();
  EXPECT_EQ(counters.filled.count(), 0u);
}

TEST(RingCounterTest, NobodyWaitsForWhatIsThere) {
  RingCounter counter;
  counter.Publish(1);
  EXPECT_EQ(counter.WaitWhile(0, std::chrono::hours(1)), 1u);
}

TEST(RingCounterTest, AWaitEnds) {
  RingCounter counter;
  EXPECT_EQ(counter.WaitWhile(0, microseconds(100)), 0u);
  // What a waiter left behind harms nobody.
  counter.Publish(1);
  EXPECT_EQ(counter.count(), 1u);
}

// Each waits for the other, a thousand times, sleeping or not.
TEST(RingCounterTest, WhoeverPublishesWakes) {
  constexpr uint32_t kTurns = 1000;
  RingCounters counters;
  std::vector<uint32_t> values(kTurns);
  std::thread other([&] {
    for (uint32_t turn = 0; turn < kTurns; ++turn) {
      while (counters.filled.WaitWhile(turn, std::chrono::hours(1)) == turn) continue;
      EXPECT_EQ(values[turn], turn + 5);
      counters.emptied.Publish(turn + 1);
    }
  });
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    values[turn] = turn + 5;
    counters.filled.Publish(turn + 1);
    while (counters.emptied.WaitWhile(turn, std::chrono::hours(1)) == turn) continue;
  }
  other.join();
}

TEST(RingCounterTest, RoomBeginsAtCacheLines) {
  EXPECT_EQ(AlignForRing(0), 0u);
  EXPECT_EQ(AlignForRing(1), 64u);
  EXPECT_EQ(AlignForRing(64), 64u);
  EXPECT_EQ(AlignForRing(65), 128u);
}

}  // namespace
}  // namespace opserve
