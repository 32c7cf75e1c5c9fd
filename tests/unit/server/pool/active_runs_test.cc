#include "server/pool/active_runs.h"

#include <chrono>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr Clock::TimePoint kRunsStart = Clock::TimePoint(std::chrono::hours(1));

TEST(ActiveRunsTest, ARunAloneHasTheDevice) {
  ActiveRuns runs;
  const uint64_t run = runs.Begin(kRunsStart, microseconds(10));
  EXPECT_EQ(runs.TimeLeft(kRunsStart), microseconds(10));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(4)), microseconds(6));
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs.End(run, kRunsStart + microseconds(11)), microseconds(11));
  EXPECT_EQ(runs.size(), 0u);
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(20)), microseconds(0));
  // The pause is nobody's.
  const uint64_t next = runs.Begin(kRunsStart + microseconds(50), microseconds(1));
  EXPECT_EQ(runs.End(next, kRunsStart + microseconds(53)), microseconds(3));
}

TEST(ActiveRunsTest, RunsShareTheTime) {
  ActiveRuns runs;
  const uint64_t first = runs.Begin(kRunsStart, microseconds(10));
  const uint64_t second = runs.Begin(kRunsStart + microseconds(4), microseconds(10));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(4)), microseconds(16));
  // Whoever has how much of it: what is left becomes less by the time that passes.
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(10)), microseconds(10));
  EXPECT_EQ(runs.End(first, kRunsStart + microseconds(14)), microseconds(4 + 5));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(14)), microseconds(5));
  EXPECT_EQ(runs.End(second, kRunsStart + microseconds(20)), microseconds(5 + 6));
}

TEST(ActiveRunsTest, ManyShortPartsAddUp) {
  ActiveRuns runs;
  const uint64_t observed = runs.Begin(kRunsStart, {});
  runs.Begin(kRunsStart, {});
  runs.Begin(kRunsStart, {});
  Clock::TimePoint now = kRunsStart;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t other = runs.Begin(now, {});
    now += nanoseconds(6);
    runs.End(other, now);
  }
  // A quarter of 6 us, to the nearest nanosecond of each part.
  const Clock::Duration busy = runs.End(observed, now);
  EXPECT_GE(busy, nanoseconds(1500));
  EXPECT_LE(busy, nanoseconds(2000));
}

TEST(ActiveRunsTest, WhatIsOverdueLooksWorseAndWorse) {
  ActiveRuns runs;
  runs.Begin(kRunsStart, microseconds(10));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(10)), microseconds(0));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(15)), microseconds(5));
  EXPECT_EQ(runs.TimeLeft(kRunsStart + microseconds(1000)), microseconds(990));
}

TEST(ActiveRunsTest, TimeNeverGoesBack) {
  ActiveRuns runs;
  const uint64_t late = runs.Begin(kRunsStart + microseconds(5), microseconds(10));
  const uint64_t early = runs.Begin(kRunsStart, microseconds(10));
  EXPECT_EQ(runs.End(early, kRunsStart + microseconds(3)), microseconds(0));
  EXPECT_EQ(runs.End(late, kRunsStart + microseconds(9)), microseconds(4));
}

}  // namespace
}  // namespace opserve::testing
