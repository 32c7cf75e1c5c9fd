#include "client/rpc/watchdog.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using std::chrono::steady_clock;

TEST(WatchdogTest, RunsActionsInTheOrderOfTheirTimesButNotThoseCalledOff) {
  constexpr std::chrono::milliseconds kDelay{20};
  std::vector<int> order;
  std::promise<void> begun;
  std::promise<void> proceed;
  std::promise<steady_clock::time_point> finished;
  Watchdog watchdog;
  // Nothing else runs until all is arranged. The times are hours apart, so that it does not matter
  // how long that takes.
  watchdog.RunAfter(absl::ZeroDuration(), [&] {
    begun.set_value();
    proceed.get_future().wait();
  });
  begun.get_future().wait();
  const auto start = steady_clock::now();
  watchdog.RunAfter(absl::FromChrono(kDelay), [&] {
    order.push_back(4);
    finished.set_value(steady_clock::now());
  });
  watchdog.RunAfter(-absl::Hours(1), [&] { order.push_back(3); });
  const Watchdog::Key second = watchdog.RunAfter(-absl::Hours(2), [&] { order.push_back(2); });
  watchdog.RunAfter(-absl::Hours(3), [&] { order.push_back(1); });
  watchdog.Cancel(second);
  watchdog.Cancel(second);
  proceed.set_value();
  EXPECT_GE(finished.get_future().get() - start, kDelay);
  EXPECT_THAT(order, ::testing::ElementsAre(1, 3, 4));
}

// How often the thread of `watchdog` has slept until now.
int64_t CountSleeps(Watchdog& watchdog) {
  std::promise<int64_t> sleeps;
  watchdog.RunAfter(absl::ZeroDuration(), [&] {
    rusage usage = {};
    getrusage(RUSAGE_THREAD, &usage);
    sleeps.set_value(usage.ru_nvcsw);
  });
  return sleeps.get_future().get();
}

pid_t ThreadOf(Watchdog& watchdog) {
  std::promise<pid_t> thread;
  watchdog.RunAfter(absl::ZeroDuration(), [&] { thread.set_value(gettid()); });
  return thread.get_future().get();
}

bool IsAsleep(pid_t thread) {
  std::ifstream status(absl::StrCat("/proc/self/task/", thread, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, "State:\tS")) return true;
  }
  return false;
}

TEST(WatchdogTest, ActionsThatAreCalledOffBeforeTheirTimeDoNotWakeItsThread) {
  constexpr int kActions = 50000;
  Watchdog watchdog;
  const pid_t thread = ThreadOf(watchdog);
  const int64_t before = CountSleeps(watchdog);
  // The thread sleeps until then. It needs the lock before, which it would find taken again and
  // again, and sleep for, if the next actions came at once.
  watchdog.RunAfter(absl::Hours(1), [] {});
  while (!IsAsleep(thread)) std::this_thread::yield();
  for (int i = 0; i < kActions; ++i) watchdog.Cancel(watchdog.RunAfter(absl::Hours(1), [] {}));
  // Few come from the counting itself.
  EXPECT_LT(CountSleeps(watchdog) - before, kActions / 1000);
}

// The time that the processors have spent on the thread of `watchdog`.
absl::Duration ThreadTimeOf(Watchdog& watchdog) {
  std::promise<absl::Duration> time;
  watchdog.RunAfter(absl::ZeroDuration(), [&] {
    rusage usage = {};
    getrusage(RUSAGE_THREAD, &usage);
    time.set_value(absl::DurationFromTimeval(usage.ru_utime) +
                   absl::DurationFromTimeval(usage.ru_stime));
  });
  return time.get_future().get();
}

TEST(WatchdogTest, WaitsForALongTimeWithoutAProcessor) {
  constexpr absl::Duration kWatched = absl::Milliseconds(100);
  Watchdog watchdog;
  // More than the clock's numbers can tell.
  watchdog.RunAfter(absl::Hours(24 * 365 * 400), [] {});
  const absl::Duration before = ThreadTimeOf(watchdog);
  Watchdog other;
  std::promise<void> over;
  other.RunAfter(kWatched, [&] { over.set_value(); });
  over.get_future().wait();
  EXPECT_LT(ThreadTimeOf(watchdog) - before, kWatched / 10);
}

TEST(WatchdogTest, AnActionAfterOneThatWasCalledOffRuns) {
  std::promise<void> finished;
  Watchdog watchdog;
  watchdog.Cancel(watchdog.RunAfter(absl::Milliseconds(1), [] {}));
  watchdog.RunAfter(absl::Milliseconds(2), [&] { finished.set_value(); });
  finished.get_future().wait();
}

TEST(WatchdogTest, AnActionBeforeTheOneThatItWaitsForRuns) {
  std::promise<void> finished;
  Watchdog watchdog;
  watchdog.RunAfter(absl::Hours(1), [] {});
  watchdog.RunAfter(absl::Milliseconds(1), [&] { finished.set_value(); });
  finished.get_future().wait();
}

TEST(WatchdogTest, AnActionMayAddAnother) {
  std::promise<void> finished;
  Watchdog watchdog;
  watchdog.RunAfter(absl::ZeroDuration(), [&] {
    watchdog.RunAfter(absl::ZeroDuration(), [&] { finished.set_value(); });
  });
  finished.get_future().wait();
}

TEST(WatchdogTest, ItsEndCallsOffWhatIsLeft) {
  bool ran = false;
  {
    Watchdog watchdog;
    watchdog.RunAfter(absl::Hours(1), [&] { ran = true; });
    watchdog.RunAfter(absl::InfiniteDuration(), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace opserve::client_internal
