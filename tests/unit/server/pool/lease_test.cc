// Jobs that wait for the end of a lease, and devices that become free meanwhile.

#include <chrono>

#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kLease = 7;
constexpr uint64_t kOtherLease = 8;

class PoolLeaseTest : public PoolTest {
 protected:
  // A job that only the first GPU can take now, which is leased.
  PoolJob& SubmitHeld() {
    EXPECT_TRUE(pool_->Submit(job_));
    EXPECT_EQ(gpu_status().pending, 1u);
    return job_;
  }

  PoolJob job_{Placement::kGpu, 1};
};

TEST_F(PoolLeaseTest, WhatWaitsGoesToADeviceWhoseLeaseEnds) {
  Start(ManualOptions(), 2);
  pool_->Reserve(kGpuName, kLease);
  pool_->Reserve(kSecondGpuName, kOtherLease);
  PoolJob& job = SubmitHeld();
  pool_->EndReservation(kSecondGpuName);
  ExpectAnswered(job, kSecondGpuName);
  EXPECT_EQ(gpu_status().pending, 0u);
  EXPECT_EQ(gpu_status().lease, kLease);
}

TEST_F(PoolLeaseTest, WhatWaitsGoesToADeviceThatIsResumed) {
  Start(ManualOptions(), 2);
  pool_->SetDeviceAside(kSecondGpuName, "test");
  pool_->Reserve(kGpuName, kLease);
  PoolJob& job = SubmitHeld();
  pool_->ResumeDevice(kSecondGpuName);
  ExpectAnswered(job, kSecondGpuName);
}

TEST_F(PoolLeaseTest, WhatWaitsGoesToADeviceThatIsMadeAnew) {
  Start(ManualOptions(), 2);
  second_gpu_.script()->LoseAtRun(1);
  PoolJob lost(Placement::kGpu, 2, kRoundSpec,
               [](JobTraits& traits) { traits.home = kSecondGpuName; });
  ASSERT_TRUE(pool_->Submit(lost));
  ExpectAnswered(lost, kGpuName);
  pool_->Reserve(kGpuName, kLease);
  PoolJob& job = SubmitHeld();
  clock_.Advance(std::chrono::seconds(10));
  pool_->Maintain();
  ExpectAnswered(job, kSecondGpuName);
}

TEST_F(PoolLeaseTest, WhoMustWaitStays) {
  Start(ManualOptions(), 2);
  pool_->Reserve(kGpuName, kLease);
  pool_->Reserve(kSecondGpuName, kOtherLease);
  PoolJob at_home(Placement::kAuto, 2, kRoundSpec,
                  [](JobTraits& traits) { traits.home = kGpuName; });
  ASSERT_TRUE(pool_->Submit(at_home));
  pool_->EndReservation(kSecondGpuName);
  EXPECT_EQ(gpu_status().pending, 1u);
  EXPECT_EQ(at_home.ends(), 0);
  // The holder's jobs go on meanwhile.
  PoolJob of_lease(Placement::kGpu, 3, kRoundSpec,
                   [](JobTraits& traits) { traits.lease = kLease; });
  ASSERT_TRUE(pool_->Submit(of_lease));
  ExpectAnswered(of_lease, kGpuName);
  pool_->EndReservation(kGpuName);
  ExpectAnswered(at_home, kGpuName);
}

}  // namespace
}  // namespace opserve::testing
