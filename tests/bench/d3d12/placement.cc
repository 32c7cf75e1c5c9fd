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
LoadFigures PlacedFigures(const BenchContext& context, DevicePool& pool, uint64_t bytes,
                          int clients, Placement placement) {
  const auto warm_up =
      std::chrono::milliseconds(static_cast<int64_t>(context.options().seconds * 1000) + 1);
  LoadFigures figures;
  for (auto duration = 2 * warm_up; figures.calls_per_s == 0 && duration < kLongestLoad;
       duration *= 2) {
    figures = RunLoad(pool, {.call = CallOfBytes(kOneBenchCase, bytes),
                             .clients = clients,
                             .placement = placement,
                             .warm_up = warm_up,
                             .duration = duration});
  }
  return figures;
}

// Of the calls per second those that the GPU answered.
double CallsPerSecondOnGpu(const DevicePool& pool, const LoadFigures& figures) {
  uint64_t all = 0;
  uint64_t on_gpu = 0;
  for (const auto& [device, answers] : figures.devices) {
    all += answers;
    if (pool.Find(device)->kind == DeviceKind::kGpu) on_gpu += answers;
  }
  if (all == 0) return 0;
  return figures.calls_per_s * static_cast<double>(on_gpu) / static_cast<double>(all);
}

void MeasurePlacementOf(const BenchContext& context, DevicePool& pool, uint64_t bytes, int clients,
                        SectionResult& result) {
  const auto run = [&](Placement placement) {
    return PlacedFigures(context, pool, bytes, clients, placement);
  };
  const double cpu = run(Placement::kCpu).calls_per_s;
  const double gpu = run(Placement::kGpu).calls_per_s;
  const LoadFigures placed = run(Placement::kAuto);
  const double automatic = placed.calls_per_s;
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
  result.rows.push_back({.name = "auto on GPU" + suffix,
                         .bytes = bytes,
                         .unit = "1/s",
                         .value = CallsPerSecondOnGpu(pool, placed),
                         .ceiling = automatic,
                         .against = "auto"});
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
