#include "server/d3d12/runtime/event.h"

#include <gtest/gtest.h>

#include <thread>

namespace opserve::d3d12 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(EventTest, StaysSetUntilReset) {
  Event event;
  ASSERT_TRUE(event.is_valid());
  EXPECT_FALSE(event.WaitFor(milliseconds(0)));
  event.Set();
  event.Set();
  EXPECT_TRUE(event.WaitFor(milliseconds(0)));
  EXPECT_TRUE(event.WaitFor(milliseconds(0)));
  event.Reset();
  EXPECT_FALSE(event.WaitFor(milliseconds(1)));
  event.Reset();
  EXPECT_FALSE(event.WaitFor(milliseconds(-1)));
}

TEST(EventTest, WakesAWaiter) {
  Event event;
  std::thread setter([&] { event.Set(); });
  EXPECT_TRUE(event.WaitFor(seconds(30)));
  setter.join();
}

}  // namespace
}  // namespace opserve::d3d12
