// Section "kept": inputs of which the device has a copy.

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {

absl::Status MeasureKeptInputs(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  absl::Status status;
  for (const BenchCase& each : AllBenchCases()) {
    for (const uint64_t bytes : {64 * kKiB, context.Sized(16, 4, 1) * kMiB}) {
      const auto invocation = CallOfBytes(each, bytes);
      CallBuffers buffers(*invocation, Values::kUsual);
      const DeviceCall uploaded = CallWith(*invocation, buffers);
      DeviceCall kept = uploaded;
      for (TensorBytes& input : kept.inputs) {
        if (!input.is_absent()) input = {input.data(), context.NextContent()};
      }
      const auto run = [&](const DeviceCall& call) {
        return [&](int) { status.Update((*device)->Run({&call, 1})); };
      };
      const std::vector<double> seconds = context.Seconds({{run(kept)}, {run(uploaded)}});
      if (!status.ok()) return status;
      result.rows.push_back(
          RateRow(NameOf(each), bytes, buffers.total_bytes, seconds[0], seconds[1], "uploaded"));
    }
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
