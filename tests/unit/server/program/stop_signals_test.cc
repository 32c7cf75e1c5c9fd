// Signals that this process sends itself.

#include "server/program/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

// Sends it, and waits until a thread has it.
void Send(int signal) {
  kill(getpid(), signal);
  while (IsPending(signal)) std::this_thread::yield();
}

TEST(StopSignals, WaitTellsWhichCame) {
  StopSignals signals;
  Send(SIGHUP);
  EXPECT_EQ(signals.Wait(), kReloadSignal);
  Send(SIGINT);
  EXPECT_EQ(signals.Wait(), SIGINT);
}

TEST(StopSignals, OneActionForTheNextThatStops) {
  std::promise<int> first;
  std::atomic<int> calls = 0;
  StopSignals signals;
  signals.OnNext([&](int signal) {
    ++calls;
    first.set_value(signal);
  });
  Send(SIGHUP);
  Send(SIGTERM);
  EXPECT_EQ(first.get_future().get(), SIGTERM);
  Send(SIGTERM);
  EXPECT_EQ(signals.Wait(), SIGTERM);
  EXPECT_EQ(calls, 1);
}

TEST(StopSignals, IgnoredOnesCallNothing) {
  std::atomic<int> calls = 0;
  {
    StopSignals signals;
    signals.OnNext([&](int) { ++calls; });
    signals.Ignore();
    Send(SIGTERM);
    Send(SIGINT);
  }
  EXPECT_EQ(calls, 0);
}

// What the action uses may be gone right after.
TEST(StopSignals, IgnoreWaitsForTheActionThatRuns) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<bool> has_ended = false;
  StopSignals signals;
  signals.OnNext([&](int) {
    begun.set_value();
    go_on.get_future().wait();
    has_ended = true;
  });
  Send(SIGTERM);
  begun.get_future().wait();
  std::thread other([&] { go_on.set_value(); });
  signals.Ignore();
  EXPECT_TRUE(has_ended);
  other.join();
}

}  // namespace
}  // namespace opserve::testing
