// The load generator: how it ends, what it counts, and that stalls are not hidden.

#include <chrono>
#include <future>

#include "client/cli/load_generator.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

void Ignore(uint64_t) {}

TEST(LoadGeneratorTest, ClosedLoopRunsUntilStopped) {
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  const auto call = [&] {
    if (++calls >= 100) stop = true;
    return absl::OkStatus();
  };
  const LoadResult result =
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 3}, call, Ignore, stop);
  EXPECT_EQ(result.latencies.count(), static_cast<uint64_t>(calls));
  EXPECT_GE(calls, 100);
  EXPECT_LE(calls, 102) << "each thread may be in one more call";
  EXPECT_EQ(result.error_count(), 0u);
  EXPECT_EQ(result.not_started, 0u);
}

TEST(LoadGeneratorTest, RunsOnWhereTheDurationHasNoEnd) {
  std::atomic<bool> stop = false;
  int calls = 0;
  const auto call = [&] {
    if (++calls == 10) stop = true;
    return absl::OkStatus();
  };
  GenerateLoad({.duration = absl::InfiniteDuration(), .concurrency = 1}, call, Ignore, stop);
  EXPECT_EQ(calls, 10);
}

TEST(LoadGeneratorTest, ErrorsAreCountedPerCodeAndHaveNoLatency) {
  std::atomic<bool> stop = false;
  int calls = 0;
  const auto call = [&]() -> absl::Status {
    if (++calls == 30) stop = true;
    if (calls % 3 == 0) return absl::ResourceExhaustedError("full");
    if (calls % 3 == 1) return absl::UnavailableError("gone");
    return absl::OkStatus();
  };
  const LoadResult result =
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 1}, call, Ignore, stop);
  EXPECT_EQ(result.latencies.count(), 10u);
  EXPECT_EQ(result.errors.at(absl::StatusCode::kResourceExhausted), 10u);
  EXPECT_EQ(result.errors.at(absl::StatusCode::kUnavailable), 10u);
  EXPECT_EQ(result.error_count(), 20u);
  EXPECT_EQ(result.first_error, "UNAVAILABLE: gone");
}

TEST(LoadGeneratorTest, OpenLoopCountsLatencyFromThePlannedStart) {
  std::atomic<bool> stop = false;
  int calls = 0;
  // The first call stalls until the second, due 1 ms after it, is late by a known time.
  const auto call = [&] {
    ++calls;
    if (calls == 1) {
      std::promise<void> never;
      never.get_future().wait_for(std::chrono::milliseconds(50));
    } else if (calls == 2) {
      stop = true;
    }
    return absl::OkStatus();
  };
  const LoadResult result = GenerateLoad(
      {.duration = absl::Hours(1), .concurrency = 1, .rate = 1000}, call, Ignore, stop);
  EXPECT_EQ(calls, 2);
  // Both calls show the stall, although the second was answered at once.
  EXPECT_GE(result.latencies.min(), 48'000'000u);
  EXPECT_GE(result.not_started, 40u);
}

TEST(LoadGeneratorTest, OpenLoopWaitsAreCutShortByStop) {
  std::atomic<bool> stop = false;
  const auto progress = [&](uint64_t) { stop = true; };
  const LoadResult result = GenerateLoad(
      {.duration = absl::Hours(1), .concurrency = 2, .rate = 0.001},
      [] { return absl::OkStatus(); }, progress, stop);
  // Only call 0 is due; call 1 would be in a quarter of an hour.
  EXPECT_LE(result.latencies.count(), 1u);
  EXPECT_LT(result.elapsed, absl::Minutes(10));
}

TEST(LoadGeneratorTest, ProgressTellsHowManyCallsAreDone) {
  std::atomic<bool> stop = false;
  uint64_t seen = 0;
  const auto progress = [&](uint64_t done) {
    seen = done;
    if (done > 0) stop = true;
  };
  const LoadResult result = GenerateLoad(
      {.duration = absl::Hours(1), .concurrency = 2}, [] { return absl::OkStatus(); }, progress,
      stop);
  EXPECT_GT(seen, 0u);
  EXPECT_GE(result.latencies.count(), seen);
}

}  // namespace
}  // namespace opserve::cli
