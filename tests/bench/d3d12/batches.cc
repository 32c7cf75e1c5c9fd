// Section "batches": many small calls in one submission.

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {

absl::Status MeasureBatches(BenchContext& context, SectionResult& result) {
  constexpr size_t kCalls = 256;
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  absl::Status status;
  for (const BenchCase& each : AllBenchCases()) {
    const SmallCalls small(each, kCalls);
    const auto run = [&](std::span<const DeviceCall> calls) {
      status.Update((*device)->Run(calls));
    };
    const std::vector<double> seconds =
        context.Seconds({{[&](int) { run(small.calls()); }}, {[&](int) {
                           for (const DeviceCall& call : small.calls()) run({&call, 1});
                         }}});
    if (!status.ok()) return status;
    result.rows.push_back({.name = NameOf(each),
                           .bytes = SmallCalls::kBytes,
                           .unit = "k/s",
                           .value = kCalls / seconds[0] * 1e-3,
                           .ceiling = kCalls / seconds[1] * 1e-3,
                           .against = "one by one",
                           .goal = {Goal::Kind::kAtLeast, 10}});
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
