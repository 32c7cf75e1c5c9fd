// Jobs with a home: the device that one of their tensors is placed on.

#include <chrono>

#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

class PoolHomeTest : public PoolTest {
 protected:
  // Runs a job that is at home on `home`; it must be answered by `device`.
  void ExpectRunsOn(const std::string& device, Placement placement, absl::string_view home,
                    const std::function<void(JobTraits&)>& change = nullptr) {
    PoolJob job(placement, 5, kRoundSpec, [&](JobTraits& traits) {
      traits.home = home;
      if (change) change(traits);
    });
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, device);
    EXPECT_EQ(job.record().kind, device == kCpuName ? DeviceKind::kCpu : DeviceKind::kGpu);
  }
};

// Also where nobody would expect it to be faster, and although all is small enough for this thread.
TEST_F(PoolHomeTest, JobsRunAtHome) {
  PoolOptions options = ManualOptions();
  options.inline_bytes = 1 << 20;
  Start(options, 2);
  for (const char* home : {kSecondGpuName, kGpuName}) {
    for (int i = 0; i < 50; ++i) {
      ExpectRunsOn(home, Placement::kAuto, home);
      ExpectRunsOn(home, Placement::kGpu, home);
    }
  }
  EXPECT_EQ(StatusOf(0).counters.requests, 0u);
}

TEST_F(PoolHomeTest, RequestsForTheProcessorRunThere) {
  Start(ManualOptions(), 2);
  ExpectRunsOn(kCpuName, Placement::kCpu, kSecondGpuName);
}

TEST_F(PoolHomeTest, JobsWithoutAHomeRunAsEver) {
  Start(ManualOptions(), 2);
  ExpectRunsOn(kCpuName, Placement::kAuto, "");
  ExpectRunsOn(kCpuName, Placement::kAuto, "elsewhere");
}

TEST_F(PoolHomeTest, AHomeWithoutTheKernelIsNone) {
  second_gpu_.PrepareScripts(
      [](NullScript& script) { script.Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  Start(ManualOptions(), 2);
  ExpectRunsOn(kCpuName, Placement::kAuto, kSecondGpuName);
  ExpectRunsOn(kGpuName, Placement::kGpu, kSecondGpuName);
}

TEST_F(PoolHomeTest, WhatALostHomeCannotRunMoves) {
  Start(ManualOptions(), 2);
  second_gpu_.script()->LoseAtRun(1);
  ExpectRunsOn(kGpuName, Placement::kGpu, kSecondGpuName);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kLost);
  ExpectRunsOn(kGpuName, Placement::kGpu, kSecondGpuName);
  ExpectRunsOn(kCpuName, Placement::kAuto, kSecondGpuName);
  // Once it is made anew, they come home.
  clock_.Advance(std::chrono::seconds(10));
  pool_->Maintain();
  ExpectRunsOn(kSecondGpuName, Placement::kAuto, kSecondGpuName);
}

// They may find their inputs there, which others have to upload.
TEST_F(PoolHomeTest, OthersExpectNothingFromHowFastTheyWere) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(std::chrono::microseconds(1000)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(std::chrono::microseconds(100)); });
  Start();
  gpu_script().OnRun([this](auto) { clock_.Advance(std::chrono::microseconds(1)); });
  for (int i = 0; i < 100; ++i) ExpectRunsOn(kGpuName, Placement::kAuto, kGpuName);
  ExpectRunsOn(kCpuName, Placement::kAuto, "");
}

TEST_F(PoolHomeTest, WhatTheProcessorPutRightIsTheProcessors) {
  Start();
  gpu_script().CorruptResult(1);
  ExpectRunsOn(kCpuName, Placement::kAuto, kGpuName,
               [](JobTraits& traits) { traits.verify = true; });
}

// Those of devices that are gone are not forgotten.
TEST_F(PoolHomeTest, TransfersAreCounted) {
  Start();
  ExpectRunsOn(kGpuName, Placement::kGpu, "");
  const uint64_t uploaded = gpu_status().transfers.uploaded_bytes;
  EXPECT_GT(uploaded, 0u);
  EXPECT_EQ(StatusOf(0).transfers.uploaded_bytes, 0u);
  gpu_script().LoseAtRun(1);
  ExpectRunsOn(kCpuName, Placement::kGpu, "");
  clock_.Advance(std::chrono::seconds(10));
  pool_->Maintain();
  EXPECT_GE(gpu_status().transfers.uploaded_bytes, uploaded);
  ExpectRunsOn(kGpuName, Placement::kGpu, "");
  EXPECT_GT(gpu_status().transfers.uploaded_bytes, uploaded);
}

TEST_F(PoolHomeTest, DevicesAreFoundByName) {
  Start(ManualOptions(), 2);
  EXPECT_EQ(pool_->Find(kSecondGpuName)->name, kSecondGpuName);
  EXPECT_EQ(pool_->Find(kCpuName)->kind, DeviceKind::kCpu);
  EXPECT_EQ(pool_->Find("none"), nullptr);
}

}  // namespace
}  // namespace opserve::testing
