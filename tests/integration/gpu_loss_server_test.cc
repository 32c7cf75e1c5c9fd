// A server whose GPUs are lost, hang, have no memory or compute wrongly, at each place where their
// Vulkan driver can tell of it, while 64 clients use it: each request gets its one right answer,
// the GPUs come back, and nothing stays behind. tests/gpu/faulty_vulkan.h is the driver.

#include <barrier>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/gpu/faulty_runtime.h"
#include "tests/gpu/faulty_vulkan.h"
#include "tests/integration/gpu_fixture.h"
#include "tests/integration/process_entries.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// So long that nothing ends because of it, and what it takes to give up a device that hangs: a
// device that works and is given up, too, does no harm there.
constexpr std::chrono::hours kNever{1000};
constexpr std::chrono::seconds kSoon{2};

// Of chains of results that stay on a GPU.
constexpr int kChains = 16;
constexpr int kChainSteps = 24;
constexpr int kFirstSteps = 4;
constexpr uint32_t kChainCount = 5000;

class GpuLossServerTest : public GpuServerTest {
 protected:
  void SetUp() override {
    RequireFaultyRuntime();
    if (IsSkipped() || HasFatalFailure()) return;
    if (before_.has_value()) return;
    // What libraries keep from their first use on.
    StartGpus(LoadOptions());
    RunClients();
    Stop();
    ExpectAllFreed();
    before_.emplace();
  }

  // Two devices on one adapter.
  void StartGpus(const ServerOptions& options, std::chrono::nanoseconds timeout = kNever) {
    std::vector<DeviceSource> sources;
    for (const char* name : {"d3d12/first", "d3d12/second"}) {
      DeviceProfile profile = NullProfile(name, /*is_software=*/true);
      const auto create = [name, timeout]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> {
        return MakeFaultyDevice({.name = name, .timeout = timeout});
      };
      sources.push_back({.profile = profile, .create = create});
    }
    StartWith(options, sources);
    ExpectGpusReady();
  }

  void ExpectGpusReady() {
    for (int gpu : {0, 1}) EXPECT_TRUE(WaitForState(gpu, v1::DEVICE_STATE_READY));
  }

  // Has the fault strike so many times while clients use the server.
  void RunWithFault(VulkanCall call, VulkanFault fault, int count = 1) {
    StartGpus(LoadOptions(),
              fault == VulkanFault::kHang ? kSoon : std::chrono::nanoseconds(kNever));
    FaultyVulkan::Arm(call, fault, count);
    RunClients();
    ExpectStrikes(count);
  }

  // Those that meet a device while it is made anew come when it is, which clients do not wait for.
  static void ExpectStrikes(int count) {
    EXPECT_TRUE(WaitUntil([=] { return FaultyVulkan::strikes() == count; }))
        << FaultyVulkan::strikes() << " of " << count;
  }

  // Has the fault strike while clients add to tensors on the GPUs, and read them now and then.
  void RunChainsWithFault(VulkanCall call, VulkanFault fault, int count = 1) {
    StartGpus(LoadOptions());
    // All have results on their GPUs when it does.
    std::barrier begun(kChains, [&]() noexcept { FaultyVulkan::Arm(call, fault, count); });
    std::vector<std::thread> clients;
    for (int client = 0; client < kChains; ++client) {
      clients.emplace_back([this, client, &begun] { RunChain(client, begun); });
    }
    for (std::thread& client : clients) client.join();
    ExpectStrikes(count);
    for (int gpu : {0, 1}) EXPECT_GT(InfoOf(gpu).counters().kept_results(), 0u) << gpu;
  }
  template <class Barrier>
  void RunChain(int client, Barrier& begun) {
    const std::string name = absl::StrCat("chain ", client);
    const auto call = [&](auto method, const auto& request, auto& response) {
      grpc::ClientContext context;
      context.AddMetadata("opserve-client", name);
      const grpc::Status status = (server().stub().*method)(&context, request, &response);
      EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    };
    const auto create = [&](float value) {
      v1::CreateTensorRequest request;
      request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
      request.mutable_desc()->add_sizes(kChainCount);
      request.set_payload(BytesOf(std::vector<float>(kChainCount, value)));
      request.set_device(client % 2 == 0 ? "d3d12/first" : "d3d12/second");
      v1::CreateTensorResponse response;
      call(&Stub::CreateTensor, request, response);
      return response.tensor();
    };
    const std::string value = create(static_cast<float>(client));
    const std::string one = create(1);
    v1::ExecuteRequest add;
    add.set_operator_("ELEMENT_WISE_ADD");
    for (const std::string& input : {value, one}) {
      add.add_inputs();
      add.add_input_places()->set_tensor(input);
    }
    add.mutable_output_place()->set_tensor(value);
    v1::ReadTensorRequest read;
    read.set_tensor(value);
    for (int step = 1; step <= kChainSteps; ++step) {
      if (step == kFirstSteps) begun.arrive_and_wait();
      v1::ExecuteResponse response;
      call(&Stub::Execute, add, response);
      if (step % (5 + client) != 0 && step < kChainSteps) continue;
      v1::ReadTensorResponse bytes;
      call(&Stub::ReadTensor, read, bytes);
      EXPECT_EQ(ValuesOf<float>(bytes.payload()),
                std::vector<float>(kChainCount, static_cast<float>(client + step)))
          << name << ", step " << step;
    }
  }

  uint64_t losses() { return InfoOf(0).counters().losses() + InfoOf(1).counters().losses(); }

  // Both GPUs serve, and once the server has stopped all is as it was before it started.
  void ExpectRecovery() {
    ExpectGpusReady();
    ExpectDevices(2);
    RunClients();
    EXPECT_EQ(answered_by(cpu_name()), 0u);
    Stop();
    ExpectAllFreed();
    ExpectNoMoreThan(*before_);
  }

 private:
  // Once a server has stopped, as the first test finds it.
  static inline std::optional<ProcessEntries> before_;
};

TEST_F(GpuLossServerTest, LostAtASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostAtAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostAtTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostWhileItIsMadeAnew) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kLost, 3);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

// Both devices are lost by refusals, and others by those that follow.
TEST_F(GpuLossServerTest, NoMemoryWhileItIsMadeAnew) {
  StartGpus(LoadOptions());
  FaultyVulkan::Arm(VulkanCall::kSubmit, VulkanFault::kNoMemory, 8);
  v1::ExecuteRequest request = RoundRequest({1.5f});
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  const Answer answer = server().Execute(request);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(ValuesOf<float>(answer.response.payload()), std::vector<float>{2});
  ExpectStrikes(8);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

// The device that hangs is there until its driver resets it.
TEST_F(GpuLossServerTest, HangsAtASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResetHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, HangsAtAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResumeHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, HangsAtTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResetHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kNoMemory);
  EXPECT_EQ(losses(), 0u);
  EXPECT_EQ(InfoOf(0).counters().faults() + InfoOf(1).counters().faults(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kNoMemory, 3);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kNoMemory, 3);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, ChainsSurviveALossAtASubmission) {
  RunChainsWithFault(VulkanCall::kSubmit, VulkanFault::kLost, 3);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, ChainsSurviveALossAtAWait) {
  RunChainsWithFault(VulkanCall::kWait, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, ChainsSurviveLies) {
  RunChainsWithFault(VulkanCall::kSubmit, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, ChainsSurviveWantOfMemory) {
  RunChainsWithFault(VulkanCall::kSubmit, VulkanFault::kNoMemory);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

// The stamp arrives, with what the memory held before in the place of the results.
TEST_F(GpuLossServerTest, LeavesDispatchesOut) {
  ServerOptions options = LossOptions();
  options.pool.verify_rate = 1;
  StartGpus(options);
  // One of them might find its results there, from a request like it.
  FaultyVulkan::Arm(VulkanCall::kDispatch, VulkanFault::kWrong, 1000000);
  RunClients();
  EXPECT_GT(FaultyVulkan::strikes(), 0);
  FaultyVulkan::Arm(VulkanCall::kDispatch, VulkanFault::kWrong, 0);
  EXPECT_EQ(losses(), 0u);
  EXPECT_GT(InfoOf(0).counters().mismatches() + InfoOf(1).counters().mismatches(), 0u);
  for (int gpu : {0, 1}) {
    if (InfoOf(gpu).counters().mismatches() == 0) continue;
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_QUARANTINED);
    EXPECT_THAT(InfoOf(gpu).state_reason(), HasSubstr("wrong result"));
  }
  Stop();
  ExpectAllFreed();
}

}  // namespace
}  // namespace opserve::testing
