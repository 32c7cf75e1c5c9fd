// A server whose GPUs are removed, hang or have no memory as Windows has it, where two of them that
// are on one adapter are one device, while 64 clients use it: each request gets its one right
// answer, the GPUs come back, and nothing stays behind. tests/gpu/singleton_d3d12.h has the rules.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/gpu/singleton_d3d12.h"
#include "tests/gpu/system_runtime.h"
#include "tests/integration/gpu_fixture.h"
#include "tests/integration/process_entries.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// So long that nothing ends because of it, and what it takes to give up a device that hangs.
constexpr std::chrono::hours kNever{1000};
constexpr std::chrono::seconds kSoon{2};

class SystemLossServerTest : public GpuServerTest {
 protected:
  void SetUp() override {
    RequireSystemRuntime();
    if (IsSkipped() || HasFatalFailure()) return;
    if (before_.has_value()) return;
    // What libraries keep from their first use on.
    StartGpus(kNever);
    RunClients();
    Stop();
    ExpectAllReleased();
    before_.emplace();
  }

  void StartGpus(std::chrono::nanoseconds timeout, const ServerOptions& options = LoadOptions()) {
    std::vector<DeviceSource> sources;
    for (const char* name : {"d3d12/first", "d3d12/second"}) {
      const auto create = [name, timeout]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> {
        return MakeSystemDevice({.name = name, .timeout = timeout});
      };
      sources.push_back({.profile = NullProfile(name, /*is_software=*/true), .create = create});
    }
    StartWith(options, sources);
    ExpectGpusReady();
  }

  void ExpectGpusReady() {
    for (int gpu : {0, 1}) EXPECT_TRUE(WaitForState(gpu, v1::DEVICE_STATE_READY));
  }

  // Has the fault strike so many times while clients use the server.
  void RunWithFault(SystemCall call, SystemFault fault, int count = 1) {
    StartGpus(fault == SystemFault::kHang ? kSoon : std::chrono::nanoseconds(kNever));
    SingletonD3D12::Arm(call, fault, count);
    RunClients();
    EXPECT_EQ(SingletonD3D12::strikes(), count);
  }

  uint64_t losses() { return InfoOf(0).counters().losses() + InfoOf(1).counters().losses(); }

  // Both GPUs serve, and once the server has stopped all is as it was before it started.
  void ExpectRecovery() {
    // One that has had no request since the removal has still to notice.
    RunClients();
    ExpectGpusReady();
    EXPECT_EQ(SingletonD3D12::devices(), 1);
    RunClients();
    EXPECT_EQ(answered_by(cpu_name()), 0u);
    Stop();
    ExpectAllReleased();
    ExpectNoMoreThan(*before_);
  }

 private:
  // Once a server has stopped, as the first test finds it.
  static inline std::optional<ProcessEntries> before_;
};

TEST_F(SystemLossServerTest, RemovedAtASubmission) {
  RunWithFault(SystemCall::kExecute, SystemFault::kRemoved);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(SystemLossServerTest, RemovedAtASignal) {
  RunWithFault(SystemCall::kSignal, SystemFault::kRemoved);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(SystemLossServerTest, RemovedWhileItIsMadeAnew) {
  RunWithFault(SystemCall::kExecute, SystemFault::kRemoved, 3);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(SystemLossServerTest, HangsAtASubmission) {
  RunWithFault(SystemCall::kExecute, SystemFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(SystemLossServerTest, HangsAtASignal) {
  RunWithFault(SystemCall::kSignal, SystemFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(SystemLossServerTest, NoMemoryWhileTheyAreMade) {
  SingletonD3D12::Arm(SystemCall::kCreateBuffer, SystemFault::kNoMemory, 3);
  StartGpus(kNever);
  EXPECT_EQ(SingletonD3D12::strikes(), 3);
  ExpectRecovery();
}

// The call that fails says no more than that the device is removed.
TEST_F(SystemLossServerTest, TheReasonIsTold) {
  StartGpus(kNever, LossOptions());
  SingletonD3D12::Arm(SystemCall::kSignal, SystemFault::kRemoved);
  RunClients();
  EXPECT_EQ(losses(), 2u);
  for (int gpu : {0, 1}) {
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_LOST);
    EXPECT_THAT(InfoOf(gpu).state_reason(), HasSubstr("DXGI_ERROR_DEVICE_HUNG"));
  }
  Stop();
  ExpectAllReleased();
}

}  // namespace
}  // namespace opserve::testing
