#include "client/base/clock.h"

#include <sys/resource.h>

#include <future>
#include <memory>

#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

// The time that the processors have spent on this thread.
absl::Duration ThreadTime() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

TEST(SteadyClockTest, WaitsForALongTimeWithoutAProcessor) {
  constexpr absl::Duration kWatched = absl::Milliseconds(100);
  const auto watched = MakeSteadyClock();
  const auto thread_time = [&watched] {
    std::promise<absl::Duration> time;
    watched->RunAfter(absl::ZeroDuration(), [&] { time.set_value(ThreadTime()); });
    return time.get_future().get();
  };
  // More than the clock's numbers can tell.
  watched->RunAfter(absl::Hours(24 * 365 * 400), [] {});
  const absl::Duration before = thread_time();
  const auto other = MakeSteadyClock();
  std::promise<void> over;
  other->RunAfter(kWatched, [&] { over.set_value(); });
  over.get_future().wait();
  EXPECT_LT(thread_time() - before, kWatched / 10);
}

}  // namespace
}  // namespace opserve::client_internal
