// Section "calls": whole calls by their size.

#include <cstring>

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {

absl::Status MeasureCalls(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  absl::Status status;
  const uint64_t largest = context.Sized(64, 4, 1) * kMiB;
  for (const BenchCase& each : AllBenchCases()) {
    for (uint64_t bytes = 64 * kKiB; bytes <= largest; bytes *= 4) {
      const auto invocation = CallOfBytes(each, bytes);
      CallBuffers buffers(*invocation, Values::kUsual);
      const DeviceCall call = CallWith(*invocation, buffers);
      const uint64_t half = buffers.total_bytes / 2;
      const Buffer from(half);
      Buffer to(half);
      const std::vector<double> seconds =
          context.Seconds({{[&](int) {
                             status.Update((*device)->Run({&call, 1}));
                           }},
                           {[&](int) { std::memcpy(to.data(), from.data(), half); }}});
      if (!status.ok()) return status;
      result.rows.push_back(
          RateRow(NameOf(each), bytes, buffers.total_bytes, seconds[0], seconds[1], "memcpy"));
    }
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
