// Section "cold": what the first calls of a device wait for.

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

Row MillisecondsRow(std::string name, double seconds, double ceiling, std::string against) {
  return {.name = std::move(name),
          .unit = "ms",
          .value = seconds * 1e3,
          .ceiling = ceiling * 1e3,
          .against = std::move(against)};
}

// Seconds of making a device, which then is in `device`.
absl::StatusOr<double> SecondsToMake(const BenchContext& context,
                                     std::unique_ptr<d3d12::D3D12Device>& device) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> made = context.MakeDevice();
  if (!made.ok()) return made.status();
  device = *std::move(made);
  return SecondsSince(start);
}

}  // namespace

absl::Status MeasureColdStart(BenchContext& context, SectionResult& result) {
  std::unique_ptr<d3d12::D3D12Device> device;
  const absl::StatusOr<double> made = SecondsToMake(context, device);
  if (!made.ok()) return made.status();
  const absl::StatusOr<double> made_again = SecondsToMake(context, device);
  if (!made_again.ok()) return made_again.status();
  const auto invocation = CallOfBytes(kOneBenchCase, kMiB);
  CallBuffers buffers(*invocation, Values::kUsual);
  const DeviceCall call = CallWith(*invocation, buffers);
  constexpr int kRuns = 30;
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status status = device->Run({&call, 1}); !status.ok()) return status;
    times.push_back(SecondsSince(start));
  }
  const double warm = Median({times.begin() + kRuns / 2, times.end()});
  result.rows.push_back(MillisecondsRow("make a device", *made, *made_again, "again"));
  result.rows.push_back(MillisecondsRow("its first call", times[0], warm, "warm call"));
  result.rows.push_back(MillisecondsRow("its second call", times[1], warm, "warm call"));
  result.rows.push_back(MillisecondsRow("its tenth call", times[9], warm, "warm call"));
  result.notes.push_back(
      "A call has 1 MiB. The first one makes the pipeline of its kernel, memory and a command "
      "list; clocks of GPUs rise with the first calls.");
  return absl::OkStatus();
}

}  // namespace opserve::bench
