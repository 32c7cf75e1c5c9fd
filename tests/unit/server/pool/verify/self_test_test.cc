#include "server/pool/verify/self_test.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/attribute_settings.h"
#include "kernels/op_table.h"
#include "server/pool/calibration.h"
#include "server/pool/verify/sample_call.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What is tested of the operator table: (operator, type, type of the output, setting).
int KernelCount() {
  int count = 0;
  for (const OpTraits& op : OpTable()) {
    for (DataType lane : kAllDataTypes) {
      if (!op.lane_types().contains(lane)) continue;
      count += op.OutputTypes(lane).size() * PlainSettingCount(op);
    }
  }
  return count;
}

struct Device {
  std::shared_ptr<NullScript> script = std::make_shared<NullScript>();
  NullDevice device{NullProfile("null/0", true), script};
};

TEST(SelfTestTest, AGoodDevicePasses) {
  Device good;
  const SelfTestOutcome outcome = TestDevice(good.device);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  // Packed, padded, transposed, and five calls together.
  EXPECT_EQ(outcome.cases, 8 * KernelCount());
  EXPECT_EQ(good.script->runs().at(1), 3u * static_cast<unsigned>(KernelCount()));
  EXPECT_EQ(good.script->runs().at(5), static_cast<unsigned>(KernelCount()));
}

// Whichever result is wrong, the test finds it and stops there.
TEST(SelfTestTest, FindsEveryWrongResult) {
  constexpr KernelLane kLanes[] = {{OpId::ELEMENT_WISE_IF, DataType::kFloat64},
                                   {OpId::ELEMENT_WISE_IS_NAN, DataType::kFloat16},
                                   {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32}};
  const int cases = 8 * (1 + 2 + 3);
  for (int wrong = 1; wrong <= cases; ++wrong) {
    Device bad;
    bad.script->CorruptResult(static_cast<uint64_t>(wrong));
    const SelfTestOutcome outcome = TestLanes(bad.device, kLanes);
    EXPECT_TRUE(absl::IsDataLoss(outcome.status)) << wrong << ": " << outcome.status;
    EXPECT_EQ(outcome.cases, wrong);
    EXPECT_EQ(outcome.failed, kLanes[wrong <= 8 ? 0 : wrong <= 24 ? 1 : 2]);
  }
}

// Kernels have tables of functions by quarters up to 4. A driver that changes one entry is found
// out, whichever it is.
TEST(SelfTestTest, ReadsTheWholeOfTables) {
  constexpr int kQuarters = 17;
  std::array<std::set<int>, 2> quarters;
  Device device;
  device.script->OnRun([&quarters](std::span<const DeviceCall> calls) {
    for (const DeviceCall& call : calls) {
      std::vector<float> elements(call.invocation->input_bytes[0] / sizeof(float));
      std::memcpy(elements.data(), call.inputs[0].data(), elements.size() * sizeof(float));
      for (const float x : elements) {
        const float quarter = std::round(std::abs(x) * 4);
        if (quarter < kQuarters) quarters[call.invocation->plan.is_packed()].insert(int(quarter));
      }
    }
  });
  EXPECT_TRUE(
      TestLanes(device.device, {{{OpId::ELEMENT_WISE_ERF, DataType::kFloat32}}}).status.ok());
  for (const std::set<int>& found : quarters) EXPECT_EQ(found.size(), kQuarters);
}

TEST(SelfTestTest, SaysWhatIsWrong) {
  Device bad;
  bad.script->CorruptResult(2);
  const SelfTestOutcome outcome =
      TestLanes(bad.device, {{{OpId::ELEMENT_WISE_IF, DataType::kFloat64}}});
  EXPECT_THAT(std::string(outcome.status.message()),
              AllOf(HasSubstr("ELEMENT_WISE_IF in FLOAT64, setting 0, padded"),
                    HasSubstr("element 1276 is 0x"), HasSubstr(" instead of 0x")));
}

TEST(SelfTestTest, SkipsWhatTheDeviceDoesNotSupport) {
  Device partial;
  for (DataType type : kAllDataTypes) partial.script->Unsupport(OpId::ELEMENT_WISE_IF, type);
  const SelfTestOutcome outcome = TestDevice(partial.device);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.cases, 8 * (KernelCount() - 11));
}

TEST(SelfTestTest, ARunThatFailsKeepsItsCode) {
  Device failing;
  failing.script->FailRun(5, absl::InternalError("broken pipeline"));
  const SelfTestOutcome outcome = TestDevice(failing.device);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("broken pipeline"));
}

// 50 us per run and a nanosecond per byte of output.
TEST(CalibrationTest, LearnsTheCostsOfLanesThatStandForAll) {
  SimulatedClock clock;
  Device timed;
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
  Device timed;
  CostModel costs;
  ASSERT_TRUE(Calibrate(timed.device, clock, 1 << 20, costs).ok());
  const uint64_t still = timed.script->run_count();
  timed.script->OnRun([&clock](auto) { clock.Advance(std::chrono::milliseconds(10)); });
  ASSERT_TRUE(Calibrate(timed.device, clock, 1 << 20, costs).ok());
  EXPECT_EQ(still - (timed.script->run_count() - still), 200u - 10u);
}

TEST(CalibrationTest, EndsWithTheFirstFailure) {
  SimulatedClock clock;
  Device failing;
  failing.script->LoseAtRun(10);
  CostModel costs;
  EXPECT_TRUE(absl::IsUnavailable(Calibrate(failing.device, clock, 1 << 20, costs)));
  EXPECT_EQ(failing.script->run_count(), 10u);
}

}  // namespace
}  // namespace opserve::testing
