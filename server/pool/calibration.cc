#include "server/pool/calibration.h"

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "server/device/lane_key.h"
#include "server/pool/verify/kernel_lane.h"
#include "server/pool/verify/sample_call.h"

namespace opserve {
namespace {

// Bytes of the lane input: one size that shows the time per call, one that shows the time per byte.
constexpr uint32_t kSizes[] = {uint32_t{4} << 10, uint32_t{1} << 20};
constexpr int kRepetitions = 3;

absl::Status Measure(ComputeDevice& device, const SampleSpec& spec, const Clock& clock,
                     CostModel& costs) {
  std::mt19937_64 random(spec.count);
  const absl::StatusOr<SampleCall> sample = SampleCall::Make(spec, random);
  if (!sample.ok()) return sample.status();
  std::vector<std::byte> output(sample->invocation().output_bytes);
  const DeviceCall call = sample->CallInto(output.data());
  // The first run makes pipelines and touches memory; it tells nothing about the others.
  absl::Status status = device.Run({&call, 1});
  for (int i = 0; i < kRepetitions && status.ok(); ++i) {
    const Clock::TimePoint start = clock.Now();
    status = device.Run({&call, 1});
    const Clock::Duration took = clock.Now() - start;
    if (status.ok()) costs.Observe(LaneKeyOf(sample->invocation()), sample->bytes(), took);
  }
  return status;
}

absl::Status MeasureLane(ComputeDevice& device, const KernelLane& lane, const Clock& clock,
                         CostModel& costs) {
  for (SampleLayout layout : {SampleLayout::kPacked, SampleLayout::kPadded}) {
    for (uint32_t bytes : kSizes) {
      const SampleSpec spec = {.op = lane.op,
                               .lane = lane.type,
                               .layout = layout,
                               .count = bytes / static_cast<uint32_t>(SizeOf(lane.type)),
                               .values = SampleValues::kUsual};
      absl::Status status = Measure(device, spec, clock, costs);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Calibrate(ComputeDevice& device, const Clock& clock, CostModel& costs) {
  for (const KernelLane& lane : RepresentativeLanesOf(device)) {
    absl::Status status = MeasureLane(device, lane, clock, costs);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace opserve
