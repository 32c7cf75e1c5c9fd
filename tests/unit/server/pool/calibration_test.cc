#include "server/pool/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>

#include "kernels/op_table.h"
#include "server/device/lane_key.h"
#include "server/pool/verify/kernel_lane.h"
#include "server/pool/verify/sample_call.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/pool/model_device.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct ScriptedDevice {
  std::shared_ptr<NullScript> script = std::make_shared<NullScript>();
  NullDevice device{NullProfile("null/0", true), script};
};

// Has memory for results of so many bytes at most.
class NarrowDevice final : public ComputeDevice {
 public:
  explicit NarrowDevice(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  const DeviceProfile& profile() const override { return device_.profile(); }
  bool Supports(OpId op, DataType lane) const override { return device_.Supports(op, lane); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    const uint64_t bytes = calls[0].sequence != nullptr
                               ? calls[0].sequence->sequence->output_bytes(0)
                               : calls[0].invocation->output_bytes;
    if (bytes > most_bytes_) return absl::ResourceExhaustedError("It exceeds the budget.");
    largest_ = std::max(largest_, bytes);
    return device_.Run(calls);
  }

  // Bytes of the largest result.
  uint64_t largest() const { return largest_; }
  CostModel& costs() { return costs_; }
  absl::Status Calibrate() { return opserve::Calibrate(*this, clock_, 4 * kMiB, costs_); }

 private:
  const uint64_t most_bytes_;
  SimulatedClock clock_;
  ModelDevice device_{
      NullProfile("narrow", false), {microseconds(40), microseconds(4), 25, 25, 2000}, clock_};
  CostModel costs_;
  uint64_t largest_ = 0;
};

TEST(CalibrationTest, WhatADeviceHasNoMemoryForIsMeasuredWithLess) {
  NarrowDevice device(kMiB);
  EXPECT_TRUE(device.Calibrate().ok());
  EXPECT_EQ(device.largest(), kMiB);
  // Two sizes tell what bytes cost: 25 GB/s each way.
  const Clock::Duration more =
      device.costs().EstimateAny(1, 4 * kMiB) - device.costs().EstimateAny(1, 2 * kMiB);
  EXPECT_NEAR(static_cast<double>(more.count()), 2e9 * kMiB / 25e9, 2e3);
}

TEST(CalibrationTest, ADeviceWithoutMemoryForAnyOfItIsNotMeasured) {
  NarrowDevice device(0);
  EXPECT_TRUE(device.Calibrate().ok());
  EXPECT_EQ(device.costs().EstimateAny(1, kMiB), Clock::Duration::zero());
}

TEST(CalibrationTest, LearnsTheCostsOfLanesThatStandForAll) {
  SimulatedClock clock;
  ScriptedDevice timed;
  timed.script->OnRun([&clock](std::span<const DeviceCall> calls) {
    // 10 us for each step, and a tenth of a nanosecond per byte of it.
    if (const SequenceCall* const chain = calls[0].sequence; chain != nullptr) {
      const auto steps = static_cast<int64_t>(chain->sequence->steps.size());
      const auto bytes = static_cast<int64_t>(chain->sequence->output_bytes(0));
      clock.Advance(microseconds(50) + nanoseconds(bytes) +
                    (steps - 1) * (microseconds(10) + nanoseconds(2 * bytes / 10)));
      return;
    }
    clock.Advance(microseconds(50) + nanoseconds(calls[0].invocation->output_bytes));
  });
  CostModel costs;
  ASSERT_TRUE(Calibrate(timed.device, clock, 1 << 20, costs).ok());
  std::mt19937_64 random;
  for (const KernelLane& lane : RepresentativeLanesOf(timed.device)) {
    for (const SampleLayout layout : {SampleLayout::kPacked, SampleLayout::kPadded}) {
      const SampleSpec spec = {.op = lane.op, .lane = lane.type, .layout = layout};
      const LaneKey key = LaneKeyOf(SampleCall::Make(spec, random)->invocation());
      const std::optional<Clock::Duration> estimate = costs.Estimate(key, 0);
      ASSERT_TRUE(estimate.has_value()) << TraitsOf(lane.op).name << " " << NameOf(lane.type);
      EXPECT_NEAR(static_cast<double>(estimate->count()), 50'000, 500);
      EXPECT_GT(costs.Estimate(key, 1 << 20), *estimate);
    }
  }
  const LaneKey other = {.op = OpId::ELEMENT_WISE_ABS, .lane_type = DataType::kInt8};
  EXPECT_EQ(costs.Estimate(other, 0), std::nullopt);
  EXPECT_GT(costs.EstimateLike(other, 1 << 20), costs.EstimateLike(other, 0));
  // What a further step costs is known by itself.
  const SequenceSize two = {.edge_bytes = 2 << 20, .steps = 2, .step_bytes = 4 << 20};
  const SequenceSize ten = {.edge_bytes = 2 << 20, .steps = 10, .step_bytes = 20 << 20};
  const Clock::Duration further = *costs.EstimateSequence(ten) - *costs.EstimateSequence(two);
  // The ends of a sequence are those of calls of all kinds, some of which have small results.
  const double expected = 8 * (10'000 + 2 * (1 << 20) / 10.0);
  EXPECT_NEAR(static_cast<double>(further.count()), expected, expected / 10);
}

// Simulated time may stand still.
TEST(CalibrationTest, WarmsTheDeviceUpForAWhile) {
  SimulatedClock clock;
  ScriptedDevice timed;
  CostModel costs;
  ASSERT_TRUE(Calibrate(timed.device, clock, 128 << 10, costs).ok());
  const uint64_t still = timed.script->run_count();
  timed.script->OnRun([&clock](auto) { clock.Advance(std::chrono::milliseconds(10)); });
  ASSERT_TRUE(Calibrate(timed.device, clock, 128 << 10, costs).ok());
  EXPECT_EQ(still - (timed.script->run_count() - still), 200u - 10u);
}

TEST(CalibrationTest, EndsWithTheFirstFailure) {
  SimulatedClock clock;
  ScriptedDevice failing;
  failing.script->LoseAtRun(10);
  CostModel costs;
  EXPECT_TRUE(absl::IsUnavailable(Calibrate(failing.device, clock, 1 << 20, costs)));
  EXPECT_EQ(failing.script->run_count(), 10u);
}

}  // namespace
}  // namespace opserve::testing
