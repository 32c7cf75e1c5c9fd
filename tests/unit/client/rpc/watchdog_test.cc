#include "client/rpc/watchdog.h"

#include <future>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

TEST(WatchdogTest, RunsActionsInTheOrderOfTheirTimesButNotThoseCalledOff) {
  std::vector<int> order;
  std::promise<void> finished;
  Watchdog watchdog;
  watchdog.RunAfter(absl::Milliseconds(30), [&] {
    order.push_back(3);
    finished.set_value();
  });
  const Watchdog::Key second =
      watchdog.RunAfter(absl::Milliseconds(20), [&] { order.push_back(2); });
  watchdog.RunAfter(absl::ZeroDuration(), [&] { order.push_back(1); });
  watchdog.Cancel(second);
  watchdog.Cancel(second);
  finished.get_future().wait();
  EXPECT_THAT(order, ::testing::ElementsAre(1, 3));
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
