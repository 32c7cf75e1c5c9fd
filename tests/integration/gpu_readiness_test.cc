// Health of the GPUs, as clients see it that watch.

#include <future>

#include "gmock/gmock.h"
#include "tests/integration/gpu_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::AnyOf;

constexpr int kForEver = 1'000'000'000;

class GpuReadinessTest : public GpuServerTest {
 protected:
  void Break(int gpu) {
    factory(gpu).FailCreations(kForEver, absl::UnavailableError("broken by the test"));
  }
  void Repair(int gpu) { factory(gpu).FailCreations(0, absl::OkStatus()); }
  // The GPU is lost with its next run; Break decides whether it comes back.
  void Lose(int gpu) {
    script(gpu).LoseAtRun(1);
    EXPECT_TRUE(server().Execute(OnGpu()).status.ok());
  }
  static v1::ExecuteRequest OnGpu() {
    v1::ExecuteRequest request = RoundRequest({1});
    request.set_device(v1::DEVICE_PREFERENCE_GPU);
    return request;
  }
};

TEST_F(GpuReadinessTest, UnknownWithoutGpus) {
  Start(LoadOptions(), 0);
  EXPECT_EQ(HealthOf(kGpuHealthName), Health::kUnknownService);
  EXPECT_EQ(HealthOf(""), Health::kServing);
}

TEST_F(GpuReadinessTest, ServesWithGpus) {
  Start(LoadOptions());
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
}

TEST_F(GpuReadinessTest, WatchFollowsTheGpu) {
  Break(0);
  Start(LoadOptions(), 1);
  HealthWatch gpu(server().channel(), kGpuHealthName);
  HealthWatch whole(server().channel(), "");
  EXPECT_EQ(whole.Next(), Health::kServing);
  EXPECT_EQ(gpu.Next(), Health::kNotServing);
  for (int round = 0; round < 3; ++round) {
    Repair(0);
    ASSERT_EQ(gpu.Next(), Health::kServing);
    Break(0);
    Lose(0);
    ASSERT_EQ(gpu.Next(), Health::kNotServing);
    EXPECT_EQ(HealthOf(""), Health::kServing);
    EXPECT_EQ(HealthOf(kServiceName), Health::kServing);
  }
}

TEST_F(GpuReadinessTest, WatchTellsThatAServiceIsUnknown) {
  Start(LoadOptions());
  HealthWatch watch(server().channel(), "other");
  EXPECT_EQ(watch.Next(), Health::kUnknownService);
}

// Watches that nobody reads hold up neither the server nor each other.
TEST_F(GpuReadinessTest, WatchesThatNobodyReadsEndWithTheServer) {
  Start(LoadOptions(), 1);
  ASSERT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
  std::vector<std::unique_ptr<HealthWatch>> watches;
  for (int i = 0; i < 20; ++i) {
    watches.push_back(std::make_unique<HealthWatch>(server().channel(), kGpuHealthName));
  }
  EXPECT_EQ(watches.front()->Next(), Health::kServing);
  watches.resize(10);
  // Without a request to wait for, a drain might end the watches before they hear of it.
  script(0).CloseGate();
  PendingCall held = server().Start(OnGpu());
  script(0).WaitForBlocked(1);
  auto drain = std::async(std::launch::async,
                          [this] { return server().server().Drain(std::chrono::minutes(1)); });
  EXPECT_EQ(watches.front()->Next(), Health::kNotServing);
  script(0).OpenGate();
  EXPECT_TRUE(held.Get().status.ok());
  EXPECT_EQ(drain.get(), DrainResult::kComplete);
}

TEST_F(GpuReadinessTest, OneOfTwoGpusIsEnough) {
  Break(0);
  Start(LoadOptions());
  // Lost, and tried again every few milliseconds.
  EXPECT_THAT(InfoOf(0).state(), AnyOf(v1::DEVICE_STATE_LOST, v1::DEVICE_STATE_RECREATING));
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
  Break(1);
  Lose(1);
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kNotServing));
  Repair(0);
  ASSERT_TRUE(WaitForState(0, v1::DEVICE_STATE_READY));
  HealthWatch watch(server().channel(), kGpuHealthName);
  Health health = watch.Next();
  if (health == Health::kNotServing) health = watch.Next();
  EXPECT_EQ(health, Health::kServing);
}

// A device whose last run failed takes requests.
TEST_F(GpuReadinessTest, ASuspectGpuIsReady) {
  Start(LossOptions(), 1);
  ASSERT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
  script(0).FailRun(1, absl::InternalError("once"));
  EXPECT_TRUE(server().Execute(OnGpu()).status.ok());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_SUSPECT);
  EXPECT_EQ(HealthOf(kGpuHealthName), Health::kServing);
}

TEST_F(GpuReadinessTest, AGpuThatComesBackDoesNotEndADrain) {
  Start(LoadOptions());
  Break(0);
  Lose(0);
  script(1).CloseGate();
  PendingCall held = server().Start(OnGpu());
  script(1).WaitForBlocked(1);
  ASSERT_TRUE(WaitForHealth(kGpuHealthName, Health::kServing));
  HealthWatch whole(server().channel(), "");
  HealthWatch gpu(server().channel(), kGpuHealthName);
  EXPECT_EQ(whole.Next(), Health::kServing);
  EXPECT_EQ(gpu.Next(), Health::kServing);
  EXPECT_EQ(server().server().Drain(std::chrono::milliseconds(0)), DrainResult::kTimedOut);
  EXPECT_EQ(whole.Next(), Health::kNotServing);
  EXPECT_EQ(gpu.Next(), Health::kNotServing);
  Repair(0);
  ASSERT_TRUE(WaitForState(0, v1::DEVICE_STATE_READY));
  EXPECT_EQ(HealthOf(kGpuHealthName), Health::kNotServing);
  script(1).OpenGate();
  EXPECT_TRUE(held.Get().status.ok());
}

}  // namespace
}  // namespace opserve::testing
