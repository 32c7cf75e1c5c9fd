// Section "unread": results that stay on the device until somebody reads them.

#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

constexpr int kSteps = 8;

// A call per step, each on the result of the one before, which it replaces. `stays`: all but the
// last result stay where they are.
absl::Status RunInPlace(BenchContext& context, d3d12::D3D12Device& device,
                        const Invocation& invocation, CallBuffers& buffers, bool stays) {
  ContentId last = context.NextContent();
  for (int step = 0; step < kSteps; ++step) {
    DeviceCall call = CallWith(invocation, buffers);
    call.inputs[0] = {call.inputs[0].data(), last};
    call.content = {.id = context.NextContent(), .replaced = last};
    last = call.content.id;
    bool stayed = false;
    if (stays && step + 1 < kSteps) call.content.stays = &stayed;
    if (absl::Status status = device.Run({&call, 1}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureUnreadResults(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  absl::Status status;
  for (const uint64_t bytes : {64 * kKiB, kMiB, context.Sized(16, 4, 1) * kMiB}) {
    const auto invocation = CallOfBytes(kOneBenchCase, bytes);
    CallBuffers buffers(*invocation, Values::kUsual);
    const auto run = [&](bool stays) {
      return [&, stays](int) {
        status.Update(RunInPlace(context, **device, *invocation, buffers, stays));
      };
    };
    const std::vector<double> seconds = context.Seconds({{run(true)}, {run(false)}});
    if (!status.ok()) return status;
    result.rows.push_back(RateRow(NameOf(kOneBenchCase), bytes, kSteps * buffers.total_bytes,
                                  seconds[0], seconds[1], "each read"));
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
