// A thread whose tasks clients share.

#include "server/base/task_thread.h"

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

// The thread is held by a first task until all others are there.
TEST(TaskThreadTest, ClientsTakeTurnsAndMayLeave) {
  std::vector<std::string> ran;
  std::promise<void> is_held;
  std::promise<void> release;
  {
    TaskThread thread("test", std::chrono::hours(1), [] {});
    const TaskThread::Ticket first = thread.Start("a", 100, [&] {
      is_held.set_value();
      release.get_future().wait();
    });
    is_held.get_future().wait();
    const auto start = [&](const char* client, const char* name) {
      return thread.Start(client, 100, [&ran, name] { ran.emplace_back(name); });
    };
    start("a", "a2");
    const TaskThread::Ticket dropped = start("a", "a3");
    start("a", "a4");
    start("b", "b1");
    EXPECT_TRUE(thread.Cancel(dropped));
    // It has begun.
    EXPECT_FALSE(thread.Cancel(first));
    release.set_value();
  }
  EXPECT_EQ(ran, (std::vector<std::string>{"a2", "b1", "a4"}));
}

TEST(TaskThreadTest, TheThreadIsNotIdleAtRest) {
  std::promise<void> rested;
  bool is_first = true;
  TaskThread thread("test", std::chrono::milliseconds(1), [&] {
    if (std::exchange(is_first, false)) rested.set_value();
  });
  rested.get_future().wait();
}

}  // namespace
}  // namespace opserve::testing
