// Measures the device pool, in process: batched requests against unbatched ones on a Direct3D 12
// device, and automatic placement against the processor alone. Competitors take turns; medians are
// compared.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/device/cpu/cpu_device.h"
#include "server/program/gpu_sources.h"
#include "tests/bench/kernel_call.h"
#include "tests/bench/pool_load.h"

namespace opserve::bench {
namespace {

struct Options {
  GpuOptions gpu;
  int repeats = 5;
  bool smoke = false;
};

Logger& Log() {
  static Logger& logger = *new Logger(LogFormat::kText, LogLevel::kWarn);
  return logger;
}

std::unique_ptr<DevicePool> MakePool(const GpuOptions& gpu, size_t max_batch_requests) {
  PoolOptions options;
  options.batch.max_requests = max_batch_requests;
  options.cpu_workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  absl::StatusOr<std::vector<DeviceSource>> sources = FindGpus(gpu, Log());
  if (!sources.ok()) {
    absl::FPrintF(stderr, "bench_pool: %s\n", sources.status().message());
    std::exit(2);
  }
  auto pool =
      std::make_unique<DevicePool>(options, SteadyClock(), Log(), std::make_shared<CpuDevice>(0),
                                   [found = *std::move(sources)] { return found; });
  pool->Maintain();
  pool->StartMaintenance();
  return pool;
}

// Medians of what two competitors did in turns.
struct Comparison {
  LoadFigures first;
  LoadFigures second;
};

LoadFigures Median(std::vector<LoadFigures> runs) {
  std::sort(runs.begin(), runs.end(), [](const LoadFigures& a, const LoadFigures& b) {
    return a.calls_per_s < b.calls_per_s;
  });
  return runs[runs.size() / 2];
}

Comparison Compare(DevicePool& first, const Load& first_load, DevicePool& second,
                   const Load& second_load, int repeats) {
  std::vector<LoadFigures> firsts;
  std::vector<LoadFigures> seconds;
  for (int i = 0; i < repeats; ++i) {
    firsts.push_back(RunLoad(first, first_load));
    seconds.push_back(RunLoad(second, second_load));
  }
  return {Median(std::move(firsts)), Median(std::move(seconds))};
}

std::shared_ptr<const Invocation> RoundFloat32(uint32_t bytes) {
  return MakePackedCall(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32, 0, bytes / 4);
}

Load MakeLoad(const Options& options, uint32_t bytes, int clients, Placement placement) {
  Load load;
  load.call = RoundFloat32(bytes);
  load.clients = clients;
  load.placement = placement;
  if (options.smoke) load.warm_up = load.duration = std::chrono::milliseconds(20);
  return load;
}

void PrintBatching(const std::string& name, const LoadFigures& figures) {
  absl::PrintF("%-12s %12.0f %10.0f %10.0f %12.1f\n", name, figures.calls_per_s, figures.p50_us,
               figures.p99_us, figures.mean_batch);
}

void MeasureBatching(const Options& options) {
  const std::unique_ptr<DevicePool> batched = MakePool(options.gpu, BatchLimits().max_requests);
  const std::unique_ptr<DevicePool> unbatched = MakePool(options.gpu, 1);
  if (!batched->gpu_ready() || !unbatched->gpu_ready()) {
    absl::PrintF("batching: skipped, this machine has no Direct3D 12 device\n\n");
    return;
  }
  const DeviceStatus gpu = batched->Status()[1];
  absl::PrintF("256 clients, ROUND of 4 KiB FLOAT32 each, on %s%s\n", gpu.profile.name,
               gpu.profile.is_software ? " (in software, on this processor)" : "");
  absl::PrintF("%-12s %12s %10s %10s %12s\n", "", "calls/s", "p50 us", "p99 us", "mean batch");
  const Load load = MakeLoad(options, 4096, 256, Placement::kGpu);
  const auto [with, without] = Compare(*batched, load, *unbatched, load, options.repeats);
  PrintBatching("batched", with);
  PrintBatching("unbatched", without);
  const double goal = gpu.profile.is_software ? 5 : 10;
  absl::PrintF("%-12s %11.1fx %9.2fx %9.2fx   goal >= %.0fx, p99 lower\n\n", "ratio",
               with.calls_per_s / without.calls_per_s, with.p50_us / without.p50_us,
               with.p99_us / without.p99_us, goal);
}

void MeasurePlacement(const Options& options) {
  const std::unique_ptr<DevicePool> pool = MakePool(options.gpu, BatchLimits().max_requests);
  absl::PrintF(
      "ROUND of FLOAT32, placed automatically against the processor alone\n"
      "%-9s %8s %12s %12s %7s %10s %10s  %s\n",
      "size", "clients", "auto/s", "cpu/s", "ratio", "auto p99", "cpu p99", "on GPUs");
  for (uint32_t bytes : {4u << 10, 64u << 10, 1u << 20, 16u << 20}) {
    for (int clients : {1, 16, 128}) {
      // Buffers of all clients together stay below 4 GiB.
      if (uint64_t{bytes} * static_cast<uint64_t>(clients) > (uint64_t{1} << 31)) continue;
      const auto [automatic, cpu] =
          Compare(*pool, MakeLoad(options, bytes, clients, Placement::kAuto), *pool,
                  MakeLoad(options, bytes, clients, Placement::kCpu), options.repeats);
      uint64_t on_gpus = 0;
      uint64_t all = 0;
      for (const auto& [device, count] : automatic.devices) {
        all += count;
        if (device.starts_with("d3d12/")) on_gpus += count;
      }
      absl::PrintF(
          "%6d KiB %7d %12.0f %12.0f %7.2f %7.0f us %7.0f us  %3.0f %%\n", bytes >> 10, clients,
          automatic.calls_per_s, cpu.calls_per_s, automatic.calls_per_s / cpu.calls_per_s,
          automatic.p99_us, cpu.p99_us,
          all == 0 ? 0.0 : 100.0 * static_cast<double>(on_gpus) / static_cast<double>(all));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace opserve::bench

int main(int argc, char** argv) {
  opserve::bench::Options options;
  options.gpu.allow_software = true;
  CLI::App app(
      "Measures the device pool: batches against single requests, and automatic placement against\n"
      "the processor alone. Goals are printed, never enforced.");
  app.add_option("--devices", options.gpu.devices, "GPUs to use, as opserve-server takes them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("auto");
  app.add_option("--repeats", options.repeats, "Turns per row; medians are compared")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--smoke", options.smoke, "Every row once, briefly: checks that the program works");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) options.repeats = 1;
  opserve::bench::MeasureBatching(options);
  opserve::bench::MeasurePlacement(options);
  return 0;
}
