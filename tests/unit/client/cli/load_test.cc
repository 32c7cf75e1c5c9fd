// The load generator: how it ends, what it counts, and that stalls are not hidden.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>

#include "absl/strings/match.h"
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
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 3}, call, Ignore, stop).value();
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
  ASSERT_TRUE(
      GenerateLoad({.duration = absl::InfiniteDuration(), .concurrency = 1}, call, Ignore, stop)
          .ok());
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
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 1}, call, Ignore, stop).value();
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
  const LoadResult result =
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 1, .rate = 1000}, call, Ignore, stop)
          .value();
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
                                [] { return absl::OkStatus(); }, progress, stop)
                                .value();
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
                                {.duration = absl::Hours(1), .concurrency = 2},
                                [] { return absl::OkStatus(); }, progress, stop)
                                .value();
  EXPECT_GT(seen, 0u);
  EXPECT_GE(result.latencies.count(), seen);
}

TEST(LoadGeneratorTest, NoCallIsDueAtTheEnd) {
  std::atomic<bool> stop = false;
  // In numbers of the machine, 0.55 s at this rate are a little more than 55 calls.
  const LoadResult result =
      GenerateLoad(
          {.duration = absl::Milliseconds(550), .concurrency = 4, .rate = 100},
          [] { return absl::OkStatus(); }, Ignore, stop)
          .value();
  // A busy machine may start fewer, and then says so.
  EXPECT_EQ(result.latencies.count() + result.not_started, 55u);
}

TEST(LoadGeneratorTest, NoCallIsDueAfterTheStop) {
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> calls = 0;
  const auto call = [&] {
    if (++calls == 25) stop = true;
    return absl::OkStatus();
  };
  const auto progress = [](uint64_t) {
    // Who watches is told late.
    std::promise<void> never;
    never.get_future().wait_for(std::chrono::seconds(1));
  };
  const LoadResult result =
      GenerateLoad({.duration = absl::Hours(1), .concurrency = 2, .rate = 100}, call, progress,
                   stop)
          .value();
  // Of 100 that would be due until then.
  EXPECT_LE(result.not_started, 50u);
}

// Leaves room for the stacks of few threads.
[[noreturn]] void LoadWithoutThreads() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const uint64_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {bytes + (uint64_t{40} << 20), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  std::atomic<bool> stop = false;
  const absl::StatusOr<LoadResult> result = GenerateLoad(
      {.duration = absl::Hours(1), .concurrency = 1000}, [] { return absl::OkStatus(); }, Ignore,
      stop);
  const bool is_told = absl::IsResourceExhausted(result.status()) &&
                       absl::StartsWith(result.status().message(), "no more than ") &&
                       absl::EndsWith(result.status().message(), "lower --concurrency");
  std::exit(is_told ? 0 : 1);
}

TEST(LoadGeneratorDeathTest, TellsHowManyThreadsThereCanBe) {
  EXPECT_EXIT(LoadWithoutThreads(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace opserve::cli
