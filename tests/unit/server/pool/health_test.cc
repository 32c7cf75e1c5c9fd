#include <chrono>

#include "gtest/gtest.h"
#include "server/pool/device_health.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;

constexpr Clock::TimePoint kStart{std::chrono::hours(1)};
constexpr HealthOptions kOptions = {
    .max_faults = 3, .max_mismatches = 2, .min_backoff = seconds(1), .max_backoff = seconds(8)};

DeviceHealth Ready() {
  DeviceHealth health(kOptions);
  health.OnRecreated(kStart);
  return health;
}

TEST(DeviceHealthTest, StartsWithoutADevice) {
  DeviceHealth health(kOptions);
  EXPECT_EQ(health.state(), DeviceState::kStarting);
  EXPECT_FALSE(health.takes_jobs());
  EXPECT_LE(health.next_attempt(), kStart);
  health.OnRecreateStarted();
  EXPECT_EQ(health.state(), DeviceState::kStarting);
  EXPECT_EQ(health.next_attempt(), Clock::kNever);
  health.OnRecreated(kStart);
  EXPECT_EQ(health.state(), DeviceState::kReady);
  EXPECT_EQ(health.next_attempt(), Clock::kNever);
}

// Once an attempt has failed, a device is as one that was lost.
TEST(DeviceHealthTest, ADeviceStartsOnlyOnce) {
  DeviceHealth health(kOptions);
  health.OnRecreateStarted();
  health.OnRecreateFailed(kStart, "no driver");
  EXPECT_EQ(health.state(), DeviceState::kLost);
  health.OnRecreateStarted();
  EXPECT_EQ(health.state(), DeviceState::kRecreating);
}

TEST(DeviceHealthTest, FaultsInARowMakeItLost) {
  DeviceHealth health = Ready();
  health.OnFault(kStart, "first");
  EXPECT_EQ(health.state(), DeviceState::kSuspect);
  EXPECT_EQ(health.reason(), "first");
  EXPECT_TRUE(health.takes_jobs());
  health.OnFault(kStart, "second");
  EXPECT_EQ(health.state(), DeviceState::kSuspect);
  health.OnFault(kStart, "third");
  EXPECT_EQ(health.state(), DeviceState::kLost);
  EXPECT_EQ(health.reason(), "third");
  EXPECT_FALSE(health.takes_jobs());
  EXPECT_EQ(health.next_attempt(), kStart + seconds(1));
}

TEST(DeviceHealthTest, SuccessEndsSuspicion) {
  DeviceHealth health = Ready();
  for (int i = 0; i < 10; ++i) {
    health.OnFault(kStart, "a fault");
    health.OnFault(kStart, "another");
    health.OnSuccess();
    EXPECT_EQ(health.state(), DeviceState::kReady);
    EXPECT_EQ(health.reason(), "");
  }
}

TEST(DeviceHealthTest, MismatchesAddUpOverSuccesses) {
  DeviceHealth health = Ready();
  health.OnMismatch(kStart, "wrong");
  EXPECT_EQ(health.state(), DeviceState::kReady);
  health.OnSuccess();
  health.OnMismatch(kStart, "wrong again");
  EXPECT_EQ(health.state(), DeviceState::kQuarantined);
  EXPECT_EQ(health.reason(), "wrong again");
  EXPECT_EQ(health.next_attempt(), kStart + seconds(1));
}

TEST(DeviceHealthTest, ANewDeviceStartsWithACleanSlate) {
  DeviceHealth health = Ready();
  health.OnMismatch(kStart, "wrong");
  health.OnFault(kStart, "fault");
  health.OnLost(kStart, "gone");
  health.OnRecreateStarted();
  EXPECT_EQ(health.state(), DeviceState::kRecreating);
  EXPECT_EQ(health.next_attempt(), Clock::kNever);
  health.OnRecreated(kStart);
  health.OnMismatch(kStart, "wrong");
  health.OnFault(kStart, "fault");
  health.OnFault(kStart, "fault");
  EXPECT_EQ(health.state(), DeviceState::kSuspect);
}

TEST(DeviceHealthTest, SelfTestLeadsToQuarantine) {
  DeviceHealth serving = Ready();
  serving.OnSelfTestFailed(kStart, "wrong");
  EXPECT_EQ(serving.state(), DeviceState::kQuarantined);

  DeviceHealth fresh(kOptions);
  fresh.OnSelfTestFailed(kStart, "wrong");
  EXPECT_EQ(fresh.state(), DeviceState::kQuarantined);
  EXPECT_EQ(fresh.next_attempt(), kStart + seconds(1));
}

TEST(DeviceHealthTest, LateEventsChangeNothing) {
  DeviceHealth health = Ready();
  health.OnLost(kStart, "gone");
  health.OnLost(kStart + seconds(1), "late");
  health.OnFault(kStart + seconds(1), "late");
  health.OnMismatch(kStart + seconds(1), "late");
  health.OnMismatch(kStart + seconds(1), "late");
  health.OnSelfTestFailed(kStart + seconds(1), "late");
  health.OnSuccess();
  health.OnRecreated(kStart);
  EXPECT_EQ(health.state(), DeviceState::kLost);
  EXPECT_EQ(health.reason(), "gone");
  EXPECT_EQ(health.next_attempt(), kStart + seconds(1));
}

// The wait before each attempt of a device that cannot be made.
TEST(DeviceHealthTest, BackOffDoublesUpToItsLimit) {
  DeviceHealth health(kOptions);
  Clock::TimePoint now = kStart;
  for (const int wait : {1, 2, 4, 8, 8, 8}) {
    health.OnRecreateFailed(now, "no such device");
    EXPECT_EQ(health.state(), DeviceState::kLost);
    EXPECT_EQ(health.next_attempt() - now, seconds(wait));
    now = health.next_attempt();
    health.OnRecreateStarted();
  }
}

TEST(DeviceHealthTest, BackOffGoesOnWhereADeviceIsSoonLostAgain) {
  DeviceHealth health = Ready();
  health.OnLost(kStart, "gone");
  health.OnRecreateStarted();
  health.OnRecreated(kStart + seconds(1));
  const Clock::TimePoint again = kStart + seconds(1) + kOptions.max_backoff - seconds(1);
  health.OnLost(again, "gone");
  EXPECT_EQ(health.next_attempt() - again, seconds(2));
}

TEST(DeviceHealthTest, BackOffStartsOverAfterLongService) {
  DeviceHealth health = Ready();
  health.OnLost(kStart, "gone");
  health.OnRecreateStarted();
  health.OnRecreated(kStart + seconds(1));
  const Clock::TimePoint again = kStart + seconds(1) + kOptions.max_backoff;
  health.OnLost(again, "gone");
  EXPECT_EQ(health.next_attempt() - again, seconds(1));
}

}  // namespace
}  // namespace opserve::testing
