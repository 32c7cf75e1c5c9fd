// Faults under load: 64 clients at a time, and every one gets its one right answer.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/pool/verify/self_test.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kClients = 64;
constexpr uint64_t kJobsPerClient = 20;
constexpr uint64_t kJobs = kClients * kJobsPerClient;

// Runs and results of the known-answer test that each device goes through before it serves.
struct SelfTestSize {
  uint64_t runs;
  uint64_t results;
};

SelfTestSize SizeOfSelfTest() {
  const auto script = std::make_shared<NullScript>();
  NullDevice device(NullProfile("null/test", true), script);
  const SelfTestOutcome outcome = TestLanes(device, RepresentativeLanesOf(device));
  return {script->run_count(), static_cast<uint64_t>(outcome.cases)};
}

class FaultTest : public PoolTest {
 protected:
  // Like in production: real time, threads that make devices anew.
  static PoolOptions LoadOptions() {
    PoolOptions options;
    options.cpu_workers = 2;
    options.batch.max_requests = 16;
    options.batch.max_delay = microseconds(100);
    options.health.min_backoff = milliseconds(1);
    options.health.max_backoff = milliseconds(4);
    return options;
  }

  // Devices that never come back within a test.
  static PoolOptions LossOptions() {
    PoolOptions options = LoadOptions();
    options.health.min_backoff = std::chrono::hours(1);
    options.health.max_backoff = std::chrono::hours(1);
    return options;
  }

  void StartLoaded(const PoolOptions& options, int gpus = 2) {
    Start(options, gpus, &SteadyClock());
    pool_->StartMaintenance();
  }

  // Runs all clients' jobs, and `meanwhile` in this thread.
  void RunClients(const std::function<void()>& meanwhile = nullptr) {
    std::vector<std::thread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([this, client] { RunClient(client); });
    }
    if (meanwhile) meanwhile();
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(right_, kJobs);
    ExpectCountersAddUp();
  }

  // Every answer is counted at one device; nothing is left anywhere.
  void ExpectCountersAddUp() const {
    uint64_t answered = 0;
    for (const DeviceStatus& status : pool_->Status()) {
      answered += status.counters.requests;
      EXPECT_EQ(status.pending, 0u) << status.profile.name;
    }
    EXPECT_EQ(answered, right_);
  }

  // Waits until the first GPU serves, whatever the second one does.
  void WaitForFirstGpu() const {
    while (gpu_status().state != DeviceState::kReady) std::this_thread::yield();
  }

  std::atomic<uint64_t> right_{0};

 private:
  void RunClient(int client) {
    constexpr DataType kLanes[] = {DataType::kFloat32, DataType::kFloat16};
    for (uint64_t i = 0; i < kJobsPerClient; ++i) {
      SampleSpec spec = kRoundSpec;
      spec.lane = kLanes[i % 2];
      spec.layout = i % 3 == 0 ? SampleLayout::kPadded : SampleLayout::kPacked;
      spec.count = 1 + static_cast<uint32_t>(client) * 7;
      PoolJob job(Placement::kGpu, i, spec, [client](JobTraits& traits) {
        traits.client = std::to_string(client);
        traits.accepted = SteadyClock().Now();
      });
      ASSERT_TRUE(pool_->Submit(job));
      const absl::Status status = job.Wait();
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(job.ends(), 1);
      if (status.ok()) ++right_;
    }
  }
};

TEST_F(FaultTest, GoodDevices) {
  StartLoaded(LoadOptions());
  RunClients();
  EXPECT_EQ(StatusOf(0).counters.requests, 0u);
  EXPECT_EQ(gpu_status().counters.faults + StatusOf(2).counters.faults, 0u);
}

TEST_F(FaultTest, LossOfOneDevice) {
  StartLoaded(LossOptions());
  gpu_script().LoseAtRun(5);
  RunClients();
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kReady);
  EXPECT_TRUE(pool_->gpu_ready());
}

TEST_F(FaultTest, AllDevicesGone) {
  StartLoaded(LossOptions());
  gpu_script().LoseAtRun(5);
  second_gpu_.script()->LoseAtRun(7);
  RunClients();
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kLost);
  EXPECT_FALSE(pool_->gpu_ready());
  EXPECT_GT(StatusOf(0).counters.requests, 0u);
}

TEST_F(FaultTest, Hang) {
  StartLoaded(LossOptions(), 1);
  gpu_script().HangAtRun(3);
  RunClients([this] {
    gpu_script().WaitForBlocked(1);
    gpu_script().Release();
  });
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
}

TEST_F(FaultTest, OutOfMemory) {
  StartLoaded(LoadOptions());
  gpu_script().LimitCalls(2);
  second_gpu_.script()->LimitCalls(0);
  RunClients();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kReady);
  EXPECT_EQ(StatusOf(2).counters.requests, 0u);
  EXPECT_EQ(gpu_status().counters.losses + StatusOf(2).counters.losses, 0u);
}

TEST_F(FaultTest, WrongBytes) {
  PoolOptions options = LossOptions();
  options.verify_rate = 1;
  StartLoaded(options);
  gpu_script().CorruptResult(10);
  second_gpu_.script()->CorruptAll(true);
  RunClients();
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kQuarantined);
  EXPECT_EQ(gpu_status().counters.mismatches, 1u);
  EXPECT_GT(StatusOf(2).counters.mismatches, 0u);
  EXPECT_EQ(StatusOf(2).counters.requests, 0u);
}

// Wrong bytes now and then, and the device returns after each quarantine.
TEST_F(FaultTest, WrongBytesAgainAndAgain) {
  PoolOptions options = LoadOptions();
  options.verify_rate = 1;
  const uint64_t nth = SizeOfSelfTest().results + 30;
  gpu_->PrepareScripts([nth](NullScript& script) { script.CorruptResult(nth); });
  StartLoaded(options, 1);
  RunClients();
  EXPECT_GT(gpu_status().counters.mismatches, 0u);
}

TEST_F(FaultTest, SlowDevice) {
  StartLoaded(LoadOptions());
  // Slow: each run waits until another thread had its turn a thousand times.
  gpu_script().OnRun([](auto) {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  });
  RunClients();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_GT(StatusOf(2).counters.requests, 0u);
}

TEST_F(FaultTest, FaultsNowAndThen) {
  StartLoaded(LoadOptions());
  for (uint64_t nth = 2; nth < 2000; nth += 5) {
    gpu_script().FailRun(nth, absl::InternalError("now and then"));
  }
  RunClients();
  EXPECT_GT(gpu_status().counters.faults, 0u);
  EXPECT_EQ(StatusOf(2).counters.faults, 0u);
}

// Devices are lost and made anew while the clients go on.
TEST_F(FaultTest, DeviceBackAgain) {
  const uint64_t tested = SizeOfSelfTest().runs;
  gpu_->PrepareScripts([tested](NullScript& script) { script.LoseAtRun(tested + 8); });
  second_gpu_.PrepareScripts([tested](NullScript& script) { script.LoseAtRun(tested + 12); });
  StartLoaded(LoadOptions());
  RunClients([this] {
    // The second loss of a device proves that it came back.
    while (gpu_status().counters.losses < 2 && right_ < kJobs) std::this_thread::yield();
  });
  gpu_->PrepareScripts(nullptr);
  second_gpu_.PrepareScripts(nullptr);
  WaitForFirstGpu();
  EXPECT_GT(gpu_status().counters.losses, 0u);
  EXPECT_GT(gpu_->attempts(), 1);
}

TEST_F(FaultTest, EndInTheMiddle) {
  StartLoaded(LoadOptions());
  gpu_script().LoseAtRun(3);
  auto jobs = MakeJobs(500);
  for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
  pool_ = nullptr;
  for (const auto& job : jobs) {
    EXPECT_EQ(job->ends(), 1);
    EXPECT_TRUE(job->Wait().ok());
  }
}

}  // namespace
}  // namespace opserve::testing
