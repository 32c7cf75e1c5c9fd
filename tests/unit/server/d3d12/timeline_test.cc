#include "server/d3d12/timeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "server/d3d12/d3d12_device.h"

namespace opserve::d3d12 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A fence that does what the test says.
class FakeFence final : public Fence {
 public:
  uint64_t CompletedValue() override {
    MutexLock lock(mutex_);
    return value_;
  }

  absl::Status Loss() override {
    MutexLock lock(mutex_);
    return loss_;
  }

  absl::Status NotifyAt(uint64_t value, Event& event) override {
    MutexLock lock(mutex_);
    if (!notify_error_.ok()) return notify_error_;
    if (value_ >= value) {
      event.Set();
    } else {
      waiting_.emplace(value, &event);
    }
    asked_.Set();
    return absl::OkStatus();
  }

  // Reaches `value`: sets the events that wait for it.
  void Reach(uint64_t value) {
    MutexLock lock(mutex_);
    value_ = value;
    while (!waiting_.empty() && waiting_.begin()->first <= value) {
      waiting_.begin()->second->Set();
      waiting_.erase(waiting_.begin());
    }
  }

  // Reports `value` without telling anybody.
  void Report(uint64_t value) {
    MutexLock lock(mutex_);
    value_ = value;
  }

  // The device is lost, which sets no event.
  void Lose() {
    MutexLock lock(mutex_);
    loss_ = absl::UnavailableError("lost by the test");
  }

  void FailNotify(absl::Status status) {
    MutexLock lock(mutex_);
    notify_error_ = std::move(status);
  }

  // Waits until somebody waits.
  bool WaitUntilAsked() { return asked_.WaitFor(seconds(30)); }

 private:
  Mutex mutex_;
  uint64_t value_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status loss_ ABSL_GUARDED_BY(mutex_);
  absl::Status notify_error_ ABSL_GUARDED_BY(mutex_);
  std::multimap<uint64_t, Event*> waiting_ ABSL_GUARDED_BY(mutex_);
  Event asked_;
};

class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() : fence_(new FakeFence), timeline_(std::unique_ptr<Fence>(fence_)) {}

  FakeFence* fence_;
  Timeline timeline_;
};

TEST_F(TimelineTest, SerialsCountUp) {
  EXPECT_EQ(timeline_.last(), Serial{0});
  EXPECT_EQ(timeline_.Next(), Serial{1});
  EXPECT_EQ(timeline_.Next(), Serial{2});
  EXPECT_EQ(timeline_.last(), Serial{2});
}

TEST_F(TimelineTest, WhatIsDoneNeedsNoWait) {
  EXPECT_TRUE(timeline_.Wait(Serial{0}, seconds(0)).ok());
  fence_->Reach(5);
  EXPECT_TRUE(timeline_.Wait(Serial{5}, seconds(0)).ok());
  EXPECT_TRUE(timeline_.IsCompleted(Serial{5}));
  EXPECT_FALSE(timeline_.IsCompleted(Serial{6}));
}

TEST_F(TimelineTest, WaitEndsWhenTheFenceArrives) {
  absl::Status status;
  std::thread waiter([&] { status = timeline_.Wait(Serial{3}, seconds(30)); });
  EXPECT_TRUE(fence_->WaitUntilAsked());
  fence_->Reach(3);
  waiter.join();
  EXPECT_TRUE(status.ok()) << status;
}

// libvkd3d reports submissions in the order in which it hears of their end.
TEST_F(TimelineTest, CompletionIsNotTakenBack) {
  absl::Status status;
  std::thread waiter([&] { status = timeline_.Wait(Serial{3}, seconds(30)); });
  EXPECT_TRUE(fence_->WaitUntilAsked());
  fence_->Reach(3);
  fence_->Report(2);
  waiter.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(timeline_.IsCompleted(Serial{3}));
}

TEST_F(TimelineTest, WaitHasALimit) {
  EXPECT_EQ(timeline_.Wait(Serial{1}, milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
  // The event that was given up may still be set.
  fence_->Reach(1);
  EXPECT_TRUE(timeline_.Wait(Serial{1}, seconds(0)).ok());
}

TEST_F(TimelineTest, LossIsUnavailable) {
  fence_->Reach(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(timeline_.Wait(Serial{1}, seconds(0)).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(timeline_.IsCompleted(Serial{1}));
}

TEST_F(TimelineTest, LossEndsAWait) {
  absl::Status status;
  std::thread waiter([&] { status = timeline_.Wait(Serial{1}, seconds(30)); });
  EXPECT_TRUE(fence_->WaitUntilAsked());
  fence_->Reach(std::numeric_limits<uint64_t>::max());
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

// Another thread may have been told, and the fence may never move again.
TEST_F(TimelineTest, LossThatSetsNoEventEndsAWait) {
  absl::Status status;
  std::thread waiter([&] { status = timeline_.Wait(Serial{1}, seconds(300)); });
  EXPECT_TRUE(fence_->WaitUntilAsked());
  fence_->Lose();
  waiter.join();
  EXPECT_EQ(status, absl::UnavailableError("lost by the test"));
}

// libvkd3d's fences end when the driver gives them up.
TEST_F(TimelineTest, WhatALostDeviceCompletesCountsForNothing) {
  absl::Status status;
  std::thread waiter([&] { status = timeline_.Wait(Serial{1}, seconds(300)); });
  EXPECT_TRUE(fence_->WaitUntilAsked());
  fence_->Lose();
  fence_->Reach(1);
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(timeline_.Wait(Serial{1}, seconds(0)).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(timeline_.IsCompleted(Serial{1}));
}

TEST_F(TimelineTest, FailureToWaitIsTold) {
  fence_->FailNotify(absl::InternalError("no event"));
  EXPECT_EQ(timeline_.Wait(Serial{1}, seconds(30)).code(), absl::StatusCode::kInternal);
}

TEST(HangLimitTest, GrowsWithTheBytes) {
  using std::chrono::seconds;
  EXPECT_EQ(HangLimit(seconds(10), /*is_software=*/false, {}), seconds(10));
  EXPECT_EQ(HangLimit(seconds(10), /*is_software=*/false, {1'000'000'000, {}}), seconds(30));
  EXPECT_EQ(HangLimit(seconds(10), /*is_software=*/true, {1'000'000'000, {}}), seconds(1010));
}

// A device whose kernels have shown to be slow is no hung one.
TEST(HangLimitTest, GrowsWithWhatKernelsAreExpectedToTake) {
  using std::chrono::seconds;
  EXPECT_EQ(HangLimit(seconds(10), /*is_software=*/false, {1000, seconds(50)}), seconds(210));
  EXPECT_EQ(HangLimit(seconds(10), /*is_software=*/false, {1'000'000'000, seconds(1)}),
            seconds(30));
}

}  // namespace
}  // namespace opserve::d3d12
