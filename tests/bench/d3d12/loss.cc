// Section "loss": how soon a lost device is noticed, and how long it takes until all is well again.

#include <cstring>
#include <thread>
#include <utility>

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/gpu_pool.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/pool_load.h"
#include "tests/gpu/faulty_vulkan.h"

namespace opserve::bench {
namespace {

using testing::FaultyVulkan;
using testing::VulkanCall;
using testing::VulkanFault;

// Nobody waits longer for a loss, or for the end of one.
constexpr double kLossTimeLimit = 60;

Row LossRow(std::string name, double seconds, double ceiling, std::string against, Goal goal = {}) {
  return {.name = std::move(name),
          .unit = "ms",
          .value = seconds * 1e3,
          .ceiling = ceiling * 1e3,
          .against = std::move(against),
          .goal = goal};
}

// Devices over a driver that says that they are lost when it is told to.
class LossBench {
 public:
  LossBench(std::shared_ptr<const d3d12::Runtime> runtime, int adapter)
      : runtime_(std::move(runtime)),
        adapter_(adapter),
        invocation_(CallOfBytes(kOneBenchCase, kMiB)),
        buffers_(*invocation_, Values::kUsual) {}

  absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> MakeDevice() const {
    return d3d12::D3D12Device::Create(runtime_, adapter_);
  }
  absl::Status RunOnce(d3d12::D3D12Device& device) {
    const DeviceCall call = CallWith(*invocation_, buffers_);
    return device.Run({&call, 1});
  }
  // Seconds from the call amid which the device is lost until that call has failed.
  absl::StatusOr<double> SecondsToNotice(d3d12::D3D12Device& device);

  const std::shared_ptr<const Invocation>& invocation() const { return invocation_; }

 private:
  const std::shared_ptr<const d3d12::Runtime> runtime_;
  const int adapter_;
  const std::shared_ptr<const Invocation> invocation_;
  CallBuffers buffers_;
};

absl::StatusOr<double> LossBench::SecondsToNotice(d3d12::D3D12Device& device) {
  FaultyVulkan::Arm(VulkanCall::kWait, VulkanFault::kLost);
  const auto armed = std::chrono::steady_clock::now();
  while (SecondsSince(armed) < kLossTimeLimit) {
    const auto start = std::chrono::steady_clock::now();
    const absl::Status status = RunOnce(device);
    if (absl::IsUnavailable(status)) return SecondsSince(start);
    if (!status.ok()) return status;
  }
  return absl::DeadlineExceededError("The device was not lost.");
}

// One device: lost, freed, made anew.
absl::Status MeasureDeviceLoss(LossBench& bench, SectionResult& result) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto start = now();
  absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> device = bench.MakeDevice();
  if (!device.ok()) return device.status();
  const double first_made = SecondsSince(start);
  start = now();
  if (absl::Status status = bench.RunOnce(**device); !status.ok()) return status;
  const double first_call = SecondsSince(start);
  const absl::StatusOr<double> noticed = bench.SecondsToNotice(**device);
  if (!noticed.ok()) return noticed.status();
  start = now();
  *device = nullptr;
  const double freed = SecondsSince(start);
  start = now();
  device = bench.MakeDevice();
  if (!device.ok()) return device.status();
  const double made = SecondsSince(start);
  start = now();
  if (absl::Status status = bench.RunOnce(**device); !status.ok()) return status;
  result.rows.push_back(
      LossRow("a call fails", *noticed, 0.2, "the limit", {Goal::Kind::kAtMost, 1}));
  result.rows.push_back(
      LossRow("what it had is freed", freed, 1, "the limit", {Goal::Kind::kAtMost, 1}));
  result.rows.push_back(LossRow("it is made anew", made, first_made, "first time"));
  result.rows.push_back(LossRow("its first call", SecondsSince(start), first_call, "first time"));
  return absl::OkStatus();
}

// The pool of a server: seconds from a loss, amid requests, until the device takes requests again.
absl::StatusOr<double> SecondsToRecover(DevicePool& pool, const Load& load) {
  FaultyVulkan::Arm(VulkanCall::kWait, VulkanFault::kLost);
  const auto start = std::chrono::steady_clock::now();
  const uint64_t losses = pool.Status()[1].counters.losses;
  while (pool.Status()[1].counters.losses == losses || !pool.gpu_ready()) {
    if (SecondsSince(start) > kLossTimeLimit) {
      return absl::DeadlineExceededError("The device does not come back.");
    }
    // With pauses, so that the processor has time for what makes the device anew.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const LoadFigures figures = RunLoad(pool, load);
    if (figures.refused > 0) return absl::DataLossError("Requests were refused amid the loss.");
  }
  return SecondsSince(start);
}

absl::Status MeasurePoolLoss(LossBench& bench, SectionResult& result) {
  const auto device = bench.MakeDevice();
  if (!device.ok()) return device.status();
  const auto pool = MakeGpuPool(
      (*device)->profile(),
      [&]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> { return bench.MakeDevice(); });
  if (!pool.ok()) return pool.status();
  const absl::StatusOr<double> recovered =
      SecondsToRecover(**pool, {.call = bench.invocation(),
                                .clients = 4,
                                .placement = Placement::kGpu,
                                .warm_up = std::chrono::milliseconds(0),
                                .duration = std::chrono::milliseconds(5)});
  if (!recovered.ok()) return recovered.status();
  const double backoff = std::chrono::duration<double>(HealthOptions().min_backoff).count();
  result.rows.push_back(LossRow("a server's GPU is back", *recovered, backoff, "its pause"));
  result.notes.push_back(
      "The driver is the real one, behind a loader that answers VK_ERROR_DEVICE_LOST for it. A "
      "server pauses before it makes a lost device anew; requests of 4 clients went on meanwhile, "
      "and none was refused.");
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureLoss(BenchContext& context, SectionResult& result) {
  if (absl::Status status = context.Release(); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<const d3d12::Runtime>> runtime =
      d3d12::Runtime::Load({.adapters = FaultyVulkan::path()});
  if (!runtime.ok()) return runtime.status();
  LossBench bench(*runtime, context.adapter().index);
  if (absl::Status status = MeasureDeviceLoss(bench, result); !status.ok()) return status;
  return MeasurePoolLoss(bench, result);
}

}  // namespace opserve::bench
