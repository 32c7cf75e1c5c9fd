#include "server/pool/verify/self_test.h"

#include <algorithm>
#include <array>
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
#include "server/device/lane_key.h"
#include "server/pool/verify/sample_call.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What is tested of the operator table: (operator, type, type of the output, setting, type of
// numbers), of rows twice, with hard values and with usual ones.
int KernelCount() {
  int count = 0;
  for (const OpTraits& op : OpTable()) {
    for (DataType lane : kAllDataTypes) {
      if (!op.lane_types().contains(lane)) continue;
      count += op.OutputTypes(lane).size() * PlainSettingCount(op) *
               std::max(NumberTypesOf(op).size(), 1) * (op.shape.is_row ? 2 : 1);
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

// Devices run no others.
TEST(SelfTestTest, CallsThatRunTogetherAreOfOneLane) {
  Device device;
  int mixed = 0;
  device.script->OnRun([&mixed](std::span<const DeviceCall> calls) {
    for (const DeviceCall& call : calls) {
      const bool is_same = LaneKeyOf(*call.invocation) == LaneKeyOf(*calls[0].invocation);
      mixed += is_same ? 0 : 1;
    }
  });
  EXPECT_TRUE(TestDevice(device.device).status.ok());
  EXPECT_EQ(mixed, 0);
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

}  // namespace
}  // namespace opserve::testing
