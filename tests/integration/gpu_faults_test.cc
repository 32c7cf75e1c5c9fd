// Faults of GPUs while 64 clients use the server: each request gets its one right answer, and the
// server tells truthfully what happened.

#include <thread>

#include "gmock/gmock.h"
#include "tests/integration/gpu_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// The first request goes to the first GPU. How the others are spread over GPUs that take requests
// depends on how long each was seen to take, so faults that tests count on come with the first run,
// or where there is no other choice.
class GpuFaultsTest : public GpuServerTest {};

TEST_F(GpuFaultsTest, GoodDevices) {
  Start(LoadOptions());
  RunClients();
  EXPECT_EQ(answered_by(cpu_name()), 0u);
  EXPECT_EQ(tally().most_attempts, 1u);
  EXPECT_EQ(tally().verified, 0u);
  EXPECT_GT(tally().largest_batch, 1u);
  for (int gpu : {0, 1}) {
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_READY);
    EXPECT_EQ(InfoOf(gpu).counters().faults(), 0u);
    EXPECT_EQ(InfoOf(gpu).counters().moved(), 0u);
  }
}

TEST_F(GpuFaultsTest, LossOfOneDevice) {
  Start(LossOptions());
  script(0).LoseAtRun(1);
  RunClients();
  const v1::DeviceInfo lost = InfoOf(0);
  EXPECT_EQ(lost.state(), v1::DEVICE_STATE_LOST);
  EXPECT_THAT(lost.state_reason(), HasSubstr("lost by the script"));
  EXPECT_EQ(lost.counters().losses(), 1u);
  EXPECT_GE(lost.counters().faults(), 1u);
  EXPECT_GE(lost.counters().moved(), 1u);
  EXPECT_GE(tally().most_attempts, 2u);
  EXPECT_EQ(InfoOf(1).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(InfoOf(1).counters().faults(), 0u);
  EXPECT_EQ(answered_by(cpu_name()), 0u);
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
}

TEST_F(GpuFaultsTest, AllDevicesGone) {
  Start(LossOptions());
  script(0).LoseAtRun(1);
  script(1).LoseAtRun(7);
  RunClients();
  for (int gpu : {0, 1}) {
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_LOST);
    EXPECT_EQ(InfoOf(gpu).counters().losses(), 1u);
  }
  EXPECT_GT(answered_by(cpu_name()), 0u);
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kNotServing));
  EXPECT_EQ(HealthOf(""), Health::kServing);
  // Requests for a GPU are still answered.
  RunClients();
  EXPECT_EQ(answered_by(cpu_name()), kRequests);
  EXPECT_EQ(tally().most_attempts, 1u);
}

TEST_F(GpuFaultsTest, Hang) {
  Start(LossOptions());
  script(0).HangAtRun(1);
  RunClients([this] {
    script(0).WaitForBlocked(1);
    // Nobody can know yet that it does not come back.
    EXPECT_GE(InfoOf(0).batches_in_flight(), 1u);
    EXPECT_EQ(InfoOf(0).counters().losses(), 0u);
    EXPECT_EQ(HealthOf(""), Health::kServing);
    script(0).Release();
  });
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_LOST);
  EXPECT_EQ(InfoOf(0).counters().losses(), 1u);
  EXPECT_EQ(InfoOf(1).state(), v1::DEVICE_STATE_READY);
}

TEST_F(GpuFaultsTest, OutOfMemory) {
  Start(LoadOptions());
  script(0).LimitCalls(8);
  script(1).LimitCalls(0);
  RunClients();
  for (int gpu : {0, 1}) {
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_READY);
    EXPECT_EQ(InfoOf(gpu).counters().losses(), 0u);
  }
  const v1::DeviceInfo small = InfoOf(0);
  for (const auto& batch : small.counters().batches()) EXPECT_LE(batch.size(), 8u);
  EXPECT_GT(answered_by("null/0"), 0u);
  EXPECT_EQ(answered_by("null/1"), 0u);
  EXPECT_GT(InfoOf(1).counters().faults(), 0u);
  EXPECT_GT(InfoOf(1).counters().moved(), 0u);
  EXPECT_GT(answered_by(cpu_name()), 0u);
}

// The first device is wrong once, the second always.
class WrongBytesTest : public GpuFaultsTest {
 protected:
  void RunWrong(const ServerOptions& options,
                const std::function<void(v1::ExecuteRequest&)>& change) {
    Start(options);
    script(0).CorruptResult(1);
    script(1).CorruptAll(true);
    RunClients(nullptr, change);
    for (int gpu : {0, 1}) {
      EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_QUARANTINED);
      EXPECT_THAT(InfoOf(gpu).state_reason(), HasSubstr("wrong result"));
      EXPECT_EQ(InfoOf(gpu).counters().losses(), 0u);
    }
    EXPECT_EQ(InfoOf(0).counters().mismatches(), 1u);
    EXPECT_GT(InfoOf(1).counters().mismatches(), 0u);
    EXPECT_EQ(InfoOf(1).counters().mismatches(), InfoOf(1).counters().verified());
    EXPECT_EQ(answered_by("null/1"), 0u);
    // The device that was found out gets no praise for the right answer.
    EXPECT_GT(answered_by(cpu_name()), 0u);
    EXPECT_GT(tally().verified, 0u);
    EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kNotServing));
  }
};

TEST_F(WrongBytesTest, AllResultsVerified) {
  ServerOptions options = LossOptions();
  options.pool.verify_rate = 1;
  RunWrong(options, nullptr);
}

TEST_F(WrongBytesTest, VerifiedOnRequest) {
  RunWrong(LossOptions(), [](v1::ExecuteRequest& request) { request.set_verify(true); });
}

TEST_F(GpuFaultsTest, SlowDevice) {
  Start(LoadOptions());
  // Slow: each run waits until another thread had its turn a thousand times.
  script(0).OnRun([](auto) {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  });
  RunClients();
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(InfoOf(0).counters().faults(), 0u);
  EXPECT_GT(answered_by("null/1"), answered_by("null/0"));
  EXPECT_EQ(answered_by(cpu_name()), 0u);
}

TEST_F(GpuFaultsTest, FaultsNowAndThen) {
  Start(LoadOptions());
  for (uint64_t nth = 1; nth < 2000; nth += 5) {
    script(0).FailRun(nth, absl::InternalError("now and then"));
  }
  RunClients();
  EXPECT_GT(InfoOf(0).counters().faults(), 0u);
  EXPECT_EQ(InfoOf(1).counters().faults(), 0u);
}

// Lost, then four attempts until it can be made again.
TEST_F(GpuFaultsTest, DeviceBackAgain) {
  Start(LoadOptions(), 1);
  script(0).LoseAtRun(5);
  factory(0).FailCreations(3, absl::UnavailableError("not back yet"));
  RunClients();
  ASSERT_TRUE(WaitForState(0, v1::DEVICE_STATE_READY));
  EXPECT_EQ(factory(0).attempts(), 5);
  EXPECT_EQ(InfoOf(0).counters().losses(), 1u);
  EXPECT_EQ(InfoOf(0).state_reason(), "");
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
  RunClients();
  EXPECT_EQ(answered_by("null/0"), kRequests);
}

// Devices are lost and made anew all the time.
TEST_F(GpuFaultsTest, DevicesThatComeAndGo) {
  const uint64_t tested = SelfTestRuns();
  factory(0).PrepareScripts([tested](NullScript& script) { script.LoseAtRun(tested + 1); });
  factory(1).PrepareScripts([tested](NullScript& script) { script.LoseAtRun(tested + 12); });
  Start(LoadOptions());
  RunClients();
  EXPECT_GT(InfoOf(0).counters().losses(), 0u);
  EXPECT_GT(InfoOf(1).counters().losses(), 0u);
  ASSERT_TRUE(WaitForState(0, v1::DEVICE_STATE_READY));
  ASSERT_TRUE(WaitForState(1, v1::DEVICE_STATE_READY));
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
}

}  // namespace
}  // namespace opserve::testing
