// Jobs that wait for the end of a lease, and devices that become free meanwhile.

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/pool/device_slot.h"
#include "server/pool/router.h"
#include "server/pool/slots.h"
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

// A processor and two GPUs without threads, so that each step of a job is the test's.
class RouterLeaseTest : public PoolTest {
 protected:
  RouterLeaseTest() {
    std::vector<std::unique_ptr<DeviceSlot>> gpus;
    for (const char* const name : {kGpuName, kSecondGpuName}) {
      gpus.push_back(MakeSlot(NullProfile(name, /*is_software=*/false)));
    }
    slots_.AddGpus(std::move(gpus));
    for (DeviceSlot* const slot : slots_.get()) {
      slot->Install(std::make_shared<NullDevice>(slot->profile(), std::make_shared<NullScript>()),
                    {});
    }
  }
  ~RouterLeaseTest() override {
    for (DeviceSlot* const slot : slots_.get()) slot->queue().Flush();
  }

  static DeviceProfile CpuProfile() {
    DeviceProfile profile = NullProfile(kCpuName, false);
    profile.kind = DeviceKind::kCpu;
    return profile;
  }

  std::unique_ptr<DeviceSlot> MakeSlot(DeviceProfile profile) const {
    return std::make_unique<DeviceSlot>(
        DeviceSource{.profile = std::move(profile), .create = nullptr}, BatchLimits(),
        HealthOptions(), shared_);
  }

  BatchQueue& QueueOf(size_t position) const { return slots_.get()[position]->queue(); }

  const DeviceSlot::Shared shared_{clock_, logger_, nullptr};
  Slots slots_{MakeSlot(CpuProfile())};
  Router router_{slots_, clock_};
  PoolJob job_{Placement::kGpu, 1};
  PoolJob at_home_{Placement::kGpu, 1, kRoundSpec,
                   [](JobTraits& traits) { traits.home = kGpuName; }};
};

TEST_F(RouterLeaseTest, ADeviceThatBecomesFreeJustThenGetsTheJob) {
  QueueOf(1).Reserve(kLease);
  QueueOf(2).Reserve(kOtherLease);
  const Choice chosen = router_.Choose(job_.traits());
  ASSERT_EQ(&chosen.slot, slots_.get()[1]);
  // Looks for what waits before the job does.
  QueueOf(2).EndReservation();
  router_.PlaceHeldAnew();
  EXPECT_TRUE(router_.Place(job_, chosen));
  EXPECT_EQ(QueueOf(1).load().pending, 0u);
  EXPECT_EQ(QueueOf(2).load().pending, 1u);
}

TEST_F(RouterLeaseTest, WhoMustWaitStaysWhateverBecomesFreeJustThen) {
  QueueOf(1).Reserve(kLease);
  QueueOf(2).Reserve(kOtherLease);
  const Choice chosen = router_.Choose(at_home_.traits());
  QueueOf(2).EndReservation();
  router_.PlaceHeldAnew();
  EXPECT_TRUE(router_.Place(at_home_, chosen));
  EXPECT_EQ(QueueOf(1).load().pending, 1u);
  EXPECT_EQ(QueueOf(2).load().pending, 0u);
}

}  // namespace
}  // namespace opserve::testing
