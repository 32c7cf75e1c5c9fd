#include "server/device/busy_time.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace opserve {
namespace {

using std::chrono::nanoseconds;

BusyTime::TimePoint At(int64_t time) { return BusyTime::TimePoint(nanoseconds(time)); }

TEST(BusyTimeTest, RunsThatFollowEachOtherDoNotOverlap) {
  BusyTime busy;
  EXPECT_EQ(busy.Note(At(100), At(110)), nanoseconds(10));
  // Given while the one before was under way.
  EXPECT_EQ(busy.Note(At(105), At(130)), nanoseconds(20));
  // Given after a pause.
  EXPECT_EQ(busy.Note(At(200), At(207)), nanoseconds(7));
}

TEST(BusyTimeTest, IsNeverNegative) {
  BusyTime busy;
  EXPECT_EQ(busy.Note(At(100), At(110)), nanoseconds(10));
  // Its thread was late to tell.
  EXPECT_EQ(busy.Note(At(100), At(109)), nanoseconds(0));
}

TEST(BusyTimeTest, AnEarlierEndTakesNothingBack) {
  BusyTime busy;
  busy.Note(At(100), At(110));
  busy.Note(At(100), At(105));
  EXPECT_EQ(busy.Note(At(100), At(120)), nanoseconds(10));
}

// Whatever the order in which threads tell, the device was not at work for longer than from the
// first begin to the last end.
TEST(BusyTimeTest, ThreadsAddUpToNoMoreThanPassed) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 10'000;
  BusyTime busy;
  std::vector<nanoseconds> sums(kThreads, nanoseconds(0));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int run = 0; run < kRuns; ++run) {
        const int64_t end = 1 + run * kThreads + thread;
        sums[static_cast<size_t>(thread)] += busy.Note(At(end - 1), At(end));
      }
    });
  }
  nanoseconds sum(0);
  for (std::thread& thread : threads) thread.join();
  for (const nanoseconds each : sums) sum += each;
  EXPECT_LE(sum, nanoseconds(kRuns * kThreads));
}

}  // namespace
}  // namespace opserve
