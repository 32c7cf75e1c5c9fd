#include "server/pool/verify/self_test.h"

#include <chrono>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/op_table.h"
#include "server/pool/calibration.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Kernels of the operator table: (operator, type, mode).
int KernelCount() {
  int count = 0;
  for (const OpTraits& op : OpTable()) {
    count += op.lane_types().size() * op.mode_count();
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
  const int cases = 8 * KernelCount();
  for (int wrong = 1; wrong <= cases; wrong += 7) {
    Device bad;
    bad.script->CorruptResult(static_cast<uint64_t>(wrong));
    const SelfTestOutcome outcome = TestDevice(bad.device);
    EXPECT_TRUE(absl::IsDataLoss(outcome.status)) << wrong << ": " << outcome.status;
    EXPECT_EQ(outcome.cases, wrong);
  }
}

TEST(SelfTestTest, SaysWhatIsWrong) {
  Device bad;
  bad.script->CorruptResult(2);
  const SelfTestOutcome outcome = TestDevice(bad.device);
  EXPECT_THAT(std::string(outcome.status.message()),
              AllOf(HasSubstr("ELEMENT_WISE_IF in FLOAT64, mode 0, padded"),
                    HasSubstr("element 172 is 0x"), HasSubstr(" instead of 0x")));
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
TEST(CalibrationTest, LearnsTheCostsOfEveryLane) {
  SimulatedClock clock;
  Device timed;
  timed.script->OnRun([&clock](std::span<const DeviceCall> calls) {
    const Invocation& call = *calls[0].invocation;
    clock.Advance(std::chrono::microseconds(50) + std::chrono::nanoseconds(call.output_bytes));
  });
  CostModel costs;
  ASSERT_TRUE(Calibrate(timed.device, clock, costs).ok());
  for (const OpTraits& op : OpTable()) {
    for (DataType lane : kAllDataTypes) {
      for (bool is_packed : {true, false}) {
        const LaneKey key = {.op = op.id, .lane_type = lane, .is_packed = is_packed};
        const bool has_kernel = op.lane_types().contains(lane);
        const std::optional<Clock::Duration> estimate = costs.Estimate(key, 0);
        ASSERT_EQ(estimate.has_value(), has_kernel) << op.name << " " << NameOf(lane);
        if (!has_kernel) continue;
        EXPECT_NEAR(static_cast<double>(estimate->count()), 50'000, 500) << op.name;
        EXPECT_GT(costs.Estimate(key, 1 << 20), *estimate);
      }
    }
  }
}

TEST(CalibrationTest, EndsWithTheFirstFailure) {
  SimulatedClock clock;
  Device failing;
  failing.script->LoseAtRun(10);
  CostModel costs;
  EXPECT_TRUE(absl::IsUnavailable(Calibrate(failing.device, clock, costs)));
  EXPECT_EQ(failing.script->run_count(), 10u);
}

}  // namespace
}  // namespace opserve::testing
