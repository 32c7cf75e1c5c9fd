// Section "placement": what auto makes of a processor and a device.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/gpu_pool.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/pool_load.h"

namespace opserve::bench {
namespace {

// Whoever gets no answer in that time gets none.
constexpr std::chrono::minutes kLongestLoad{1};

// For twice the time of a row, and longer where no call ends within it.
double PlacedCallsPerSecond(const BenchContext& context, DevicePool& pool, uint64_t bytes,
                            int clients, Placement placement) {
  const auto warm_up =
      std::chrono::milliseconds(static_cast<int64_t>(context.options().seconds * 1000) + 1);
  double rate = 0;
  for (auto duration = 2 * warm_up; rate == 0 && duration < kLongestLoad; duration *= 2) {
    rate = RunLoad(pool, {.call = CallOfBytes(kOneBenchCase, bytes),
                          .clients = clients,
                          .placement = placement,
                          .warm_up = warm_up,
                          .duration = duration})
               .calls_per_s;
  }
  return rate;
}

void MeasurePlacementOf(const BenchContext& context, DevicePool& pool, uint64_t bytes, int clients,
                        SectionResult& result) {
  const auto rate = [&](Placement placement) {
    return PlacedCallsPerSecond(context, pool, bytes, clients, placement);
  };
  const double cpu = rate(Placement::kCpu);
  const double gpu = rate(Placement::kGpu);
  const double automatic = rate(Placement::kAuto);
  const std::string suffix = absl::StrCat(", ", clients, clients == 1 ? " client" : " clients");
  result.rows.push_back({.name = "GPU" + suffix,
                         .bytes = bytes,
                         .unit = "1/s",
                         .value = gpu,
                         .ceiling = cpu,
                         .against = "CPU"});
  result.rows.push_back({.name = "auto" + suffix,
                         .bytes = bytes,
                         .unit = "1/s",
                         .value = automatic,
                         .ceiling = std::max(cpu, gpu),
                         .against = gpu > cpu ? "forced: GPU" : "forced: CPU",
                         .goal = {Goal::Kind::kAtLeast, 0.95}});
}

}  // namespace

absl::Status MeasurePlacement(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  const auto pool = MakeGpuPool(
      (*device)->profile(),
      [&]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> { return context.MakeDevice(); });
  if (!pool.ok()) return pool.status();
  for (const uint64_t bytes : {4 * kKiB, 256 * kKiB, context.Sized(16, 4, 1) * kMiB}) {
    for (const int clients : {1, 16}) MeasurePlacementOf(context, **pool, bytes, clients, result);
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
