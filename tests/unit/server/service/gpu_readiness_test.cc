// Health of the GPUs when two of their changes meet.

#include "server/service/gpu_readiness.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <thread>

#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

// Keeps what it is told, and holds back the call that says so.
class HeldHealth final : public grpc::HealthCheckServiceInterface {
 public:
  // The next call with this value waits for Release.
  void Hold(bool serving) {
    MutexLock lock(mutex_);
    held_ = serving ? 1 : 0;
  }
  void WaitForHeld() {
    MutexLock lock(mutex_);
    while (!is_waiting_) changed_.wait(mutex_);
  }
  void Release() {
    MutexLock lock(mutex_);
    held_ = -1;
    changed_.notify_all();
  }

  bool serving() {
    MutexLock lock(mutex_);
    return serving_.at(kGpuServiceName);
  }
  int calls() {
    MutexLock lock(mutex_);
    return calls_;
  }

  void SetServingStatus(const std::string& service_name, bool serving) override {
    MutexLock lock(mutex_);
    ++calls_;
    while (held_ == (serving ? 1 : 0)) {
      is_waiting_ = true;
      changed_.notify_all();
      changed_.wait(mutex_);
    }
    serving_[service_name] = serving;
  }
  void SetServingStatus(bool) override {}

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mutex_);
  int held_ ABSL_GUARDED_BY(mutex_) = -1;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
};

class GpuReadinessTest : public PoolTest {
 protected:
  // The pool tells its changes to the end.
  ~GpuReadinessTest() override { pool_ = nullptr; }

  void StartBroken() {
    on_change_ = [this] { readiness_.Update(); };
    gpu_->FailCreations(1, absl::UnavailableError("broken"));
    Start();
    readiness_.Attach(health_, *pool_);
    clock_.Advance(std::chrono::minutes(1));
  }

  HeldHealth health_;
  GpuReadiness readiness_;
};

TEST_F(GpuReadinessTest, FollowsTheDevice) {
  StartBroken();
  EXPECT_FALSE(health_.serving());
  pool_->Maintain();
  EXPECT_TRUE(health_.serving());
  PoolJob job(Placement::kGpu, 1);
  gpu_script().LoseAtRun(1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_FALSE(health_.serving());
}

// The device is lost while health is still being told that it is ready. The thread that lost it
// does not wait for the one that tells.
TEST_F(GpuReadinessTest, TheLastChangeIsToldLast) {
  StartBroken();
  health_.Hold(true);
  std::thread maintenance([this] { pool_->Maintain(); });
  health_.WaitForHeld();
  gpu_script().LoseAtRun(1);
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_FALSE(pool_->gpu_ready());
  health_.Release();
  maintenance.join();
  EXPECT_FALSE(health_.serving());
  EXPECT_EQ(health_.calls(), 3);
}

TEST_F(GpuReadinessTest, DetachWaitsForTheCallUnderWay) {
  StartBroken();
  health_.Hold(true);
  std::thread maintenance([this] { pool_->Maintain(); });
  health_.WaitForHeld();
  std::atomic<bool> is_detached{false};
  std::thread detacher([&] {
    readiness_.Detach();
    is_detached = true;
  });
  EXPECT_FALSE(is_detached);
  health_.Release();
  detacher.join();
  EXPECT_TRUE(health_.serving());
  maintenance.join();
}

TEST_F(GpuReadinessTest, IsNotReadyBeforeAGpuHasJoined) {
  on_change_ = [this] { readiness_.Update(); };
  StartJoining();
  readiness_.Attach(health_, *pool_);
  EXPECT_FALSE(health_.serving());
  pool_->Maintain();
  EXPECT_TRUE(health_.serving());
}

// Failed runs and failed attempts change states, but not whether a GPU takes requests.
TEST_F(GpuReadinessTest, TellsOnlyChanges) {
  StartBroken();
  gpu_->FailCreations(1, absl::UnavailableError("still broken"));
  pool_->Maintain();
  EXPECT_EQ(health_.calls(), 1);
  clock_.Advance(std::chrono::minutes(1));
  pool_->Maintain();
  EXPECT_EQ(health_.calls(), 2);
  gpu_script().FailRun(1, absl::InternalError("once"));
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kSuspect);
  EXPECT_EQ(health_.calls(), 2);
}

TEST_F(GpuReadinessTest, SaysNothingAboutServersWithoutGpus) {
  Start(ManualOptions(), 0);
  readiness_.Attach(health_, *pool_);
  EXPECT_EQ(health_.calls(), 0);
}

TEST_F(GpuReadinessTest, SaysNothingOnceDetached) {
  StartBroken();
  readiness_.Detach();
  pool_->Maintain();
  EXPECT_TRUE(pool_->gpu_ready());
  EXPECT_EQ(health_.calls(), 1);
}

}  // namespace
}  // namespace opserve::testing
