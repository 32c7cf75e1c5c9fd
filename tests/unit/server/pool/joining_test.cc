// GPUs that join while the pool serves.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/pool/device_keeper.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

class PoolJoiningTest : public PoolTest {
 protected:
  void ExpectRunsOn(const std::string& device, Placement placement, absl::string_view home = "") {
    PoolJob job(placement, 5, kRoundSpec, [home](JobTraits& traits) { traits.home = home; });
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, device);
  }

  // The script of the GPU, once it is made.
  std::shared_ptr<NullScript> WaitForScript() const {
    while (gpu_->script() == nullptr) std::this_thread::yield();
    return gpu_->script();
  }
};

// Where the system has threads for some of what a device needs, and not for all.
class PoolThreadsDeathTest : public PoolJoiningTest {
 protected:
  static constexpr int kMoreThanThereAre = 64;

  // From now on there is no room for the stacks of so many.
  static void LeaveFewThreads() {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit = {bytes + (uint64_t{40} << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  }

  [[noreturn]] void JoinWithoutThreads() {
    PoolOptions options = ManualOptions();
    options.batch.max_in_flight = kMoreThanThereAre;
    StartJoining(options, 2);
    LeaveFewThreads();
    pool_->Maintain();
    ExpectRunsOn(kCpuName, Placement::kGpu);
    const bool is_right = !HasFailure() && pool_->gpu_presence() == GpuPresence::kNone;
    pool_ = nullptr;
    std::exit(is_right ? 0 : 1);
  }

  [[noreturn]] void StartWithoutThreads() {
    PoolOptions options = ManualOptions();
    options.cpu_workers = kMoreThanThereAre;
    LeaveFewThreads();
    try {
      StartJoining(options);
    } catch (const std::system_error&) {
      std::exit(0);
    }
    std::exit(1);
  }
};

TEST_F(PoolThreadsDeathTest, TheProcessorServesWithoutAGpuThatHasTooFew) {
  EXPECT_EXIT(JoinWithoutThreads(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PoolThreadsDeathTest, ThereIsNoPoolWhereTheProcessorHasTooFew) {
  EXPECT_EXIT(StartWithoutThreads(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PoolJoiningTest, NothingIsKnownOfGpusBeforeTheyAreFound) {
  StartJoining();
  EXPECT_TRUE(pool_->has_gpus());
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kStarting);
  EXPECT_FALSE(pool_->gpu_ready());
  EXPECT_EQ(pool_->Find(kGpuName), nullptr);
  EXPECT_EQ(pool_->Status().size(), 1u);
  ExpectRunsOn(kCpuName, Placement::kGpu);
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kThere);
  EXPECT_NE(pool_->Find(kGpuName), nullptr);
  ExpectRunsOn(kGpuName, Placement::kGpu);
}

TEST_F(PoolJoiningTest, ASearchMayFindNothing) {
  pool_ =
      std::make_unique<DevicePool>(ManualOptions(), clock_, logger_,
                                   std::make_unique<NullDevice>(NullProfile(kCpuName, true), cpu_),
                                   [] { return std::vector<DeviceSource>(); });
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kStarting);
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  EXPECT_FALSE(pool_->has_gpus());
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kNone);
}

// Jobs run on the processor for as long as the GPU is being tested, and none on the GPU.
TEST_F(PoolJoiningTest, ServesWithTheProcessorMeanwhile) {
  gpu_->PrepareScripts([](NullScript& script) { script.CloseGate(); });
  StartJoining();
  std::thread joining([this] { pool_->Maintain(); });
  const std::shared_ptr<NullScript> script = WaitForScript();
  script->WaitForBlocked(1);
  EXPECT_EQ(gpu_status().state, DeviceState::kStarting);
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kStarting);
  EXPECT_FALSE(pool_->gpu_ready());
  for (const Placement placement : {Placement::kAuto, Placement::kGpu, Placement::kCpu}) {
    ExpectRunsOn(kCpuName, placement);
    ExpectRunsOn(kCpuName, placement, kGpuName);
  }
  EXPECT_EQ(script->run_count(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(pool_->SelfTest(kGpuName)->front().status));
  script->OpenGate();
  joining.join();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  ExpectRunsOn(kGpuName, Placement::kGpu);
}

TEST_F(PoolJoiningTest, ThePoolsOwnThreadBringsThemIn) {
  StartJoining(ManualOptions(), 2);
  pool_->StartMaintenance();
  while (!pool_->gpu_ready()) std::this_thread::yield();
  ExpectRunsOn(kGpuName, Placement::kGpu);
}

// One that cannot be made is tried again like one that was lost; the processor answers in its
// place.
TEST_F(PoolJoiningTest, AGpuThatDoesNotJoinIsTriedAgain) {
  gpu_->FailCreations(1, absl::NotFoundError("no driver"));
  StartJoining();
  EXPECT_EQ(pool_->Maintain(), clock_.Now() + std::chrono::seconds(1));
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kThere);
  ExpectRunsOn(kCpuName, Placement::kGpu);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  ExpectRunsOn(kGpuName, Placement::kGpu);
}

TEST_F(PoolJoiningTest, TheFirstOfTwoServesWhileTheSecondIsTested) {
  second_gpu_.PrepareScripts([](NullScript& script) { script.CloseGate(); });
  StartJoining(ManualOptions(), 2);
  std::thread joining([this] { pool_->Maintain(); });
  while (second_gpu_.script() == nullptr) std::this_thread::yield();
  second_gpu_.script()->WaitForBlocked(1);
  EXPECT_EQ(pool_->gpu_presence(), GpuPresence::kThere);
  EXPECT_EQ(StatusOf(2).state, DeviceState::kStarting);
  for (int i = 0; i < 100; ++i) ExpectRunsOn(kGpuName, Placement::kGpu);
  second_gpu_.script()->OpenGate();
  joining.join();
}

// The end of the pool cuts tests and measurements short, wherever they are.
class KeeperStopTest : public PoolTest {
 protected:
  // Stops the keeper in the `nth` run of the device with this script.
  void StopInRun(const std::shared_ptr<NullScript>& script, uint64_t nth) {
    script->OnRun([this, script = script.get(), nth](auto) {
      if (script->run_count() == nth) keeper_.Stop();
    });
  }

  static DeviceProfile CpuProfile() {
    DeviceProfile profile = NullProfile(kCpuName, false);
    profile.kind = DeviceKind::kCpu;
    return profile;
  }

  DeviceSlot& AddGpu() {
    std::vector<std::unique_ptr<DeviceSlot>> gpus;
    gpus.push_back(
        std::make_unique<DeviceSlot>(gpu_->source(), BatchLimits(), HealthOptions(), shared_));
    slots_.AddGpus(std::move(gpus));
    slots_.processor().Install(std::make_unique<NullDevice>(CpuProfile(), cpu_), {});
    return *slots_.get().back();
  }

  const DeviceSlot::Shared shared_{clock_, logger_, nullptr};
  Slots slots_{
      std::make_unique<DeviceSlot>(DeviceSource{.profile = CpuProfile(), .create = nullptr},
                                   BatchLimits(), HealthOptions(), shared_)};
  Router router_{slots_, clock_};
  DeviceKeeper keeper_{slots_, router_, clock_, logger_, 1 << 20, [] {}};
};

TEST_F(KeeperStopTest, EndsTheSelfTest) {
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this, &script](auto) {
      if (script.run_count() == 5) keeper_.Stop();
    });
  });
  const DeviceSlot& gpu = AddGpu();
  EXPECT_EQ(keeper_.Maintain(), Clock::kNever);
  EXPECT_EQ(gpu_script().run_count(), 5u);
  EXPECT_EQ(gpu.state(), DeviceState::kStarting);
}

TEST_F(KeeperStopTest, EndsTheMeasurementOfTheProcessor) {
  UseHardware();
  StopInRun(cpu_, 7);
  const DeviceSlot& gpu = AddGpu();
  keeper_.Maintain();
  EXPECT_EQ(cpu_->run_count(), 7u);
  EXPECT_EQ(gpu.state(), DeviceState::kStarting);
}

TEST_F(KeeperStopTest, BeginsNoDevice) {
  AddGpu();
  keeper_.Stop();
  keeper_.Maintain();
  EXPECT_EQ(gpu_->attempts(), 0);
}

}  // namespace
}  // namespace opserve::testing
