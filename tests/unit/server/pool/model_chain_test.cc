// What chains of calls on kept contents take on models of machines, where each result is handed
// over, and where only the last one is.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "server/pool/verify/sample_call.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/pool/model_device.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;

// Those of placement_regret_test: a fast and a slow bus, and a GPU in the machine's memory.
constexpr ModelSpeeds kGpus[] = {{microseconds(40), microseconds(4), 25, 25, 2000},
                                 {microseconds(60), microseconds(5), 6, 6, 400},
                                 {microseconds(150), microseconds(10), 12, 12, 50}};

// Of 8 calls over 4 MiB, each on the result of the one before. The first input is there.
Clock::Duration TimeOfChain(const ModelSpeeds& speeds, bool stays) {
  constexpr int kSteps = 8;
  constexpr SampleSpec kCall = {
      .op = OpId::ELEMENT_WISE_ROUND, .lane = DataType::kFloat32, .count = 1 << 20};
  SimulatedClock clock;
  ModelDevice device(NullProfile("model", /*is_software=*/false), speeds, clock);
  std::mt19937_64 random(1);
  const SampleCall sample = SampleCall::Make(kCall, random).value();
  std::vector<std::byte> output(sample.invocation().output_bytes);
  ContentId last = 1;
  const auto step = [&](bool may_stay) {
    DeviceCall call = sample.CallInto(output.data());
    call.inputs[0] = {call.inputs[0].data(), last};
    call.content = {.id = ++last};
    bool stayed = false;
    if (may_stay) call.content.stays = &stayed;
    EXPECT_TRUE(device.Run({&call, 1}).ok());
    EXPECT_EQ(stayed, may_stay);
  };
  step(true);
  const Clock::TimePoint start = clock.Now();
  for (int i = 1; i <= kSteps; ++i) step(stays && i < kSteps);
  return clock.Now() - start;
}

TEST(ModelChainTest, ChainsOfEightTakeTwoThirdsOfTheTimeAtMost) {
  for (const ModelSpeeds& speeds : kGpus) {
    const Clock::Duration before = TimeOfChain(speeds, /*stays=*/false);
    const Clock::Duration now = TimeOfChain(speeds, /*stays=*/true);
    const double ratio = static_cast<double>(before.count()) / static_cast<double>(now.count());
    RecordProperty("ratio_at_" + std::to_string(static_cast<int>(speeds.down)) + "_GB_per_s",
                   std::to_string(ratio));
    EXPECT_GE(ratio, 1.5) << "at " << speeds.down << " GB/s";
    // The one that is read moves once.
    EXPECT_GT(now.count(), 8 * speeds.latency.count());
  }
}

}  // namespace
}  // namespace opserve::testing
