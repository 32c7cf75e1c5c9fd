#include "server/pool/calibration.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/validate_sequence.h"
#include "server/device/lane_key.h"
#include "server/pool/verify/kernel_lane.h"
#include "server/pool/verify/sample_call.h"

namespace opserve {
namespace {

constexpr int kRepetitions = 3;

// Idle GPUs run at a fraction of their speed, and so do their links, and need some time to notice
// that there is work.
constexpr std::chrono::milliseconds kWarmUp{100};
constexpr int kMostWarmUpRuns = 200;
constexpr uint32_t kWarmUpBytes = uint32_t{1} << 20;

constexpr size_t kChainSteps = 8;

using Observe = absl::FunctionRef<void(Clock::Duration took)>;

// Runs `call` some times, and tells how long each took.
absl::Status Time(ComputeDevice& device, const DeviceCall& call, const Clock& clock,
                  Observe observe) {
  // The first run makes pipelines and touches memory; it tells nothing about the others.
  absl::Status status = device.Run({&call, 1});
  for (int i = 0; i < kRepetitions && status.ok(); ++i) {
    const Clock::TimePoint start = clock.Now();
    status = device.Run({&call, 1});
    if (status.ok()) observe(clock.Now() - start);
  }
  return status;
}

absl::StatusOr<SampleCall> MakeSample(const KernelLane& lane, SampleLayout layout, uint32_t bytes) {
  std::mt19937_64 random(bytes);
  return SampleCall::Make({.op = lane.op,
                           .lane = lane.type,
                           .layout = layout,
                           .count = bytes / static_cast<uint32_t>(SizeOf(lane.type)),
                           .values = SampleValues::kUsual},
                          random);
}

// Runs `measure` with `bytes`, and with the less the less memory the device has. What it has no
// memory for at all says nothing against it.
absl::Status MeasureWhatFits(uint32_t bytes, absl::FunctionRef<absl::Status(uint32_t)> measure) {
  absl::Status status = measure(bytes);
  while (absl::IsResourceExhausted(status) && bytes > kSmallCalibrationBytes) {
    bytes = std::max(bytes / 4, kSmallCalibrationBytes);
    status = measure(bytes);
  }
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

// The same with the small size, and with `large_bytes`.
absl::Status MeasureSizes(uint32_t large_bytes, absl::FunctionRef<absl::Status(uint32_t)> measure) {
  absl::Status status = MeasureWhatFits(kSmallCalibrationBytes, measure);
  return status.ok() ? MeasureWhatFits(large_bytes, measure) : status;
}

absl::Status WarmUp(ComputeDevice& device, const KernelLane& lane, const Clock& clock,
                    uint32_t bytes) {
  const absl::StatusOr<SampleCall> sample = MakeSample(lane, SampleLayout::kPacked, bytes);
  if (!sample.ok()) return sample.status();
  std::vector<std::byte> output(sample->invocation().output_bytes);
  const DeviceCall call = sample->CallInto(output.data());
  const Clock::TimePoint end = clock.Now() + kWarmUp;
  absl::Status status;
  for (int i = 0; i < kMostWarmUpRuns && status.ok() && clock.Now() < end; ++i) {
    status = device.Run({&call, 1});
  }
  return status;
}

absl::Status MeasureLane(ComputeDevice& device, const KernelLane& lane, SampleLayout layout,
                         const Clock& clock, uint32_t bytes, CostModel& costs) {
  const absl::StatusOr<SampleCall> sample = MakeSample(lane, layout, bytes);
  if (!sample.ok()) return sample.status();
  std::vector<std::byte> output(sample->invocation().output_bytes);
  return Time(device, sample->CallInto(output.data()), clock, [&](Clock::Duration took) {
    costs.Observe(LaneKeyOf(sample->invocation()), sample->bytes(), took);
  });
}

// A chain of roundings, each of the result of the one before.
std::shared_ptr<const SequenceInvocation> MakeChain(const KernelLane& lane, uint32_t bytes) {
  const uint32_t sizes[] = {1, 1, 1, bytes / static_cast<uint32_t>(SizeOf(lane.type))};
  AttributeView mode = {.name = "RoundingMode"};
  mode.value = absl::string_view("TOWARD_ZERO");
  SequenceRequest request;
  request.inputs.push_back({.data_type = static_cast<int>(lane.type), .sizes = sizes});
  request.payload_bytes.push_back(bytes);
  TensorSource source = {TensorSource::Kind::kInput, 0};
  for (uint32_t step = 0; step < kChainSteps; ++step) {
    request.steps.push_back({.operator_name = TraitsOf(lane.op).name,
                             .attributes = {mode},
                             .inputs = {{.source = source}}});
    source = {TensorSource::Kind::kStep, step};
  }
  return ValidateSequence(request, {}).sequence;
}

absl::Status MeasureChain(ComputeDevice& device, const KernelLane& lane, const Clock& clock,
                          uint32_t bytes, CostModel& costs) {
  const std::shared_ptr<const SequenceInvocation> chain = MakeChain(lane, bytes);
  if (chain == nullptr) return absl::InternalError("The chain of the calibration is not valid.");
  const std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(chain->output_bytes(0));
  SequenceCall sequence = {
      .sequence = chain.get(), .inputs = {TensorBytes(input.data())}, .outputs = {output.data()}};
  const DeviceCall call = {.sequence = &sequence};
  return Time(device, call, clock,
              [&](Clock::Duration took) { costs.ObserveSequence(chain->size, took); });
}

}  // namespace

absl::Status Calibrate(ComputeDevice& device, const Clock& clock, uint64_t large_bytes,
                       CostModel& costs) {
  const auto large = static_cast<uint32_t>(large_bytes);
  const std::vector<KernelLane> lanes = RepresentativeLanesOf(device);
  if (lanes.empty()) return absl::OkStatus();
  absl::Status status = MeasureWhatFits(std::min(kWarmUpBytes, large), [&](uint32_t bytes) {
    return WarmUp(device, lanes.front(), clock, bytes);
  });
  for (const KernelLane& lane : lanes) {
    for (SampleLayout layout : {SampleLayout::kPacked, SampleLayout::kPadded}) {
      if (!status.ok()) return status;
      status = MeasureSizes(large, [&](uint32_t bytes) {
        return MeasureLane(device, lane, layout, clock, bytes, costs);
      });
    }
  }
  constexpr KernelLane kChainLane = {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32};
  if (!status.ok() || !device.Supports(kChainLane.op, kChainLane.type)) return status;
  return MeasureSizes(
      large, [&](uint32_t bytes) { return MeasureChain(device, kChainLane, clock, bytes, costs); });
}

}  // namespace opserve
