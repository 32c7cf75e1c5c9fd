#include "tests/bench/d3d12/gpu_pool.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "server/device/cpu/cpu_device.h"

namespace opserve::bench {
namespace {

Logger& PoolLog() {
  // Losses are forced, and what is logged of them tells nothing new.
  static Logger& logger = *new Logger(LogFormat::kText, LogLevel::kError);
  return logger;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DevicePool>> MakeGpuPool(const DeviceProfile& profile,
                                                        DeviceFactory create) {
  PoolOptions options;
  options.cpu_workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<DeviceSource> sources = {{profile, std::move(create)}};
  auto pool = std::make_unique<DevicePool>(options, SteadyClock(), PoolLog(),
                                           std::make_shared<CpuDevice>(0),
                                           [sources = std::move(sources)] { return sources; });
  pool->Maintain();
  if (!pool->gpu_ready()) {
    return absl::UnavailableError("The device does not join: " + pool->Status()[1].reason);
  }
  pool->StartMaintenance();
  return pool;
}

}  // namespace opserve::bench
