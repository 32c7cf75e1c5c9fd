// Results that stay on a device: what becomes of them in a batch, and who may read them there.

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kLease = 7;
constexpr uint64_t kOtherLease = 8;

class PoolStayTest : public PoolTest {
 protected:
  static std::unique_ptr<PoolJob> Staying(uint64_t seed, bool verify = false) {
    auto job = std::make_unique<PoolJob>(Placement::kGpu, seed, kRoundSpec,
                                         [verify](JobTraits& traits) { traits.verify = verify; });
    job->LetStay(100 + seed);
    return job;
  }
  // What the first GPU keeps of the result of Staying(seed), for the holder of a lease.
  absl::Status ReadOf(uint64_t seed, uint64_t lease = kNoLease) {
    return pool_->Read(kGpuName, lease, 100 + seed, bytes_);
  }
  // Answered by the GPU, which has the result and has not handed it over.
  static void ExpectStays(PoolJob& job) {
    EXPECT_FALSE(job.Wait().ok());
    EXPECT_TRUE(job.stays());
    EXPECT_EQ(job.device(), kGpuName);
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(400);
};

TEST_F(PoolStayTest, ResultsStayAndMayBeRead) {
  Start();
  const auto job = Staying(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectStays(*job);
  EXPECT_TRUE(ReadOf(1).ok());
  EXPECT_TRUE(job->IsResult(bytes_.data()));
  EXPECT_EQ(gpu_status().transfers.kept_results, 1u);
  EXPECT_EQ(gpu_status().transfers.read_results, 1u);
  // Its runner ends the batch after it has answered.
  while (!gpu_status().is_idle) std::this_thread::yield();
  EXPECT_TRUE(absl::IsNotFound(ReadOf(2)));
  EXPECT_TRUE(absl::IsNotFound(pool_->Read("none", kNoLease, 101, bytes_)));
  EXPECT_TRUE(absl::IsNotFound(pool_->Read(kCpuName, kNoLease, 101, bytes_)));
}

TEST_F(PoolStayTest, WhatIsComparedDoesNotStay) {
  Start();
  const auto job = Staying(1, /*verify=*/true);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectAnswered(*job, kGpuName);
  EXPECT_FALSE(job->stays());
}

// Nothing that a device computed beside a wrong result is believed.
TEST_F(PoolStayTest, WhatStaysBesideAWrongResultIsComputedAnew) {
  Start();
  std::vector<std::unique_ptr<PoolJob>> jobs;
  for (uint64_t seed = 1; seed <= 3; ++seed) jobs.push_back(Staying(seed, seed == 2));
  RunTogether(jobs, [this] { gpu_script().CorruptResult(3); });
  for (const auto& job : jobs) ExpectAnswered(*job, kCpuName);
  for (const auto& job : jobs) EXPECT_FALSE(job->stays());
  EXPECT_EQ(gpu_status().counters.mismatches, 1u);
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_TRUE(absl::IsUnavailable(ReadOf(1)));
}

TEST_F(PoolStayTest, WhatALostDeviceHadMovesAndStaysNowhere) {
  Start();
  const auto job = Staying(1);
  gpu_script().LoseAtRun(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectAnswered(*job, kCpuName);
  EXPECT_FALSE(job->stays());
  EXPECT_TRUE(absl::IsUnavailable(ReadOf(1)));
}

TEST_F(PoolStayTest, AReadThatFindsTheDeviceLostIsALoss) {
  Start();
  const auto job = Staying(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectStays(*job);
  gpu_script().FailReads(1, absl::UnavailableError("lost"));
  EXPECT_TRUE(absl::IsUnavailable(ReadOf(1)));
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
  // The one that takes its place has nothing.
  clock_.Advance(std::chrono::seconds(10));
  pool_->Maintain();
  EXPECT_TRUE(absl::IsNotFound(ReadOf(1)));
}

TEST_F(PoolStayTest, DevicesThatAreSetAsideMayBeRead) {
  Start();
  const auto job = Staying(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectStays(*job);
  pool_->SetDeviceAside(kGpuName, "maintenance");
  EXPECT_TRUE(ReadOf(1).ok());
}

// Whoever has leased a device has it to himself.
TEST_F(PoolStayTest, LeasedDevicesAreReadForTheirLeaseAlone) {
  Start();
  const auto job = Staying(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectStays(*job);
  pool_->Reserve(kGpuName, kLease);
  EXPECT_TRUE(absl::IsUnavailable(ReadOf(1)));
  EXPECT_TRUE(absl::IsUnavailable(ReadOf(1, kOtherLease)));
  EXPECT_TRUE(ReadOf(1, kLease).ok());
  // What nothing else has.
  EXPECT_TRUE(pool_->Read(kGpuName, std::nullopt, 101, bytes_).ok());
  pool_->EndReservation(kGpuName);
  EXPECT_TRUE(ReadOf(1, kOtherLease).ok());
}

// Such a job may have to wait for its inputs.
TEST_F(PoolStayTest, JobsWithAHomeNeverRunInTheThreadThatSubmitsThem) {
  PoolOptions options = ManualOptions();
  options.inline_bytes = 1 << 20;
  gpu_->PrepareScripts(
      [](NullScript& script) { script.Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  Start(options);
  for (const char* home : {"", kGpuName}) {
    PoolJob job(Placement::kCpu, 5, kRoundSpec, [home](JobTraits& traits) { traits.home = home; });
    std::thread::id thread;
    job.OnPrepare([&thread] { thread = std::this_thread::get_id(); });
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, kCpuName);
    EXPECT_EQ(thread == std::this_thread::get_id(), home == std::string()) << home;
  }
}

}  // namespace
}  // namespace opserve::testing
