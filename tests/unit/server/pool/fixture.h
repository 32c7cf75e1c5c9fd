// File: tests/unit/server/pool/fixture.h
//
// A pool of scripted devices in simulated time.

#ifndef OPSERVE_TESTS_UNIT_SERVER_POOL_FIXTURE_H_
#define OPSERVE_TESTS_UNIT_SERVER_POOL_FIXTURE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/log.h"
#include "server/pool/device_pool.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/pool/job.h"

namespace opserve::testing {

inline constexpr char kCpuName[] = "cpu/null";
inline constexpr char kGpuName[] = "null/0";
inline constexpr char kSecondGpuName[] = "null/1";

// One batch at a time, so that tests know what becomes one.
inline PoolOptions ManualOptions() {
  PoolOptions options;
  options.batch.max_in_flight = 1;
  options.health.min_backoff = std::chrono::seconds(1);
  options.health.max_backoff = std::chrono::seconds(8);
  // The devices of these tests are as fast as they are told.
  options.calibration_bytes = uint64_t{128} << 10;
  return options;
}

class PoolTest : public ::testing::Test {
 protected:
  // Makes the pool with the first `gpus` of the two GPUs, which have joined then if they can. No
  // thread makes devices anew.
  void Start(const PoolOptions& options = ManualOptions(), int gpus = 1,
             const Clock* clock = nullptr) {
    StartJoining(options, gpus, clock);
    pool_->Maintain();
  }

  // The same, but the GPUs are still to join.
  void StartJoining(const PoolOptions& options = ManualOptions(), int gpus = 1,
                    const Clock* clock = nullptr) {
    DeviceProfile cpu = NullProfile(kCpuName, false);
    cpu.kind = DeviceKind::kCpu;
    std::vector<DeviceSource> sources;
    if (gpus > 0) sources.push_back(gpu_->source());
    if (gpus > 1) sources.push_back(second_gpu_.source());
    GpuFinder find_gpus = nullptr;
    if (gpus > 0) find_gpus = [sources] { return sources; };
    pool_ = std::make_unique<DevicePool>(options, clock != nullptr ? *clock : clock_, logger_,
                                         std::make_unique<NullDevice>(cpu, cpu_),
                                         std::move(find_gpus), on_change_);
  }

  // The first GPU is hardware, as far as anyone can tell.
  void UseHardware() {
    gpu_ = std::make_unique<NullDeviceFactory>(NullProfile(kGpuName, /*is_software=*/false));
  }

  // The present state of device `position`: 0 is the processor.
  DeviceStatus StatusOf(size_t position) const { return pool_->Status().at(position); }
  DeviceStatus gpu_status() const { return StatusOf(1); }
  NullScript& gpu_script() const { return *gpu_->script(); }

  // Jobs for GPUs.
  std::vector<std::unique_ptr<PoolJob>> MakeJobs(size_t count) const {
    std::vector<std::unique_ptr<PoolJob>> jobs;
    for (size_t i = 0; i < count; ++i) {
      jobs.push_back(std::make_unique<PoolJob>(Placement::kGpu, i));
    }
    return jobs;
  }

  // Has `jobs` run as one batch on the first GPU: they gather while a job before them runs.
  void RunTogether(const std::vector<std::unique_ptr<PoolJob>>& jobs,
                   const std::function<void()>& before_run = nullptr) {
    PoolJob first(Placement::kGpu, 99);
    gpu_script().CloseGate();
    ASSERT_TRUE(pool_->Submit(first));
    gpu_script().WaitForBlocked(1);
    for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
    // Events that the test scripts from here on count from the run of the batch.
    if (before_run) before_run();
    gpu_script().OpenGate();
    EXPECT_TRUE(first.Wait().ok());
  }

  // Answered, rightly, by `device`.
  static void ExpectAnswered(PoolJob& job, const std::string& device) {
    const absl::Status status = job.Wait();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(job.device(), device);
    EXPECT_EQ(job.ends(), 1);
  }

  SimulatedClock clock_;
  Logger logger_{LogFormat::kText, LogLevel::kOff};
  std::shared_ptr<NullScript> cpu_ = std::make_shared<NullScript>();
  std::unique_ptr<NullDeviceFactory> gpu_ =
      std::make_unique<NullDeviceFactory>(NullProfile(kGpuName, /*is_software=*/true));
  // Given to the pool.
  std::function<void()> on_change_;
  NullDeviceFactory second_gpu_{NullProfile(kSecondGpuName, /*is_software=*/true)};
  std::unique_ptr<DevicePool> pool_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_POOL_FIXTURE_H_
