// How much longer requests take where `auto` places them than on the best device for all of them,
// on models of machines whose speeds are known, after the measurement that devices join with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <vector>

#include "server/pool/calibration.h"
#include "server/pool/cost_model.h"
#include "server/pool/placement.h"
#include "server/pool/probe_budget.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/pool/model_device.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;

struct Machine {
  const char* name;
  ModelSpeeds cpu;
  ModelSpeeds gpu;
};
std::ostream& operator<<(std::ostream& os, const Machine& machine) { return os << machine.name; }

constexpr LaneKey kRoundLane = {.op = OpId::ELEMENT_WISE_ROUND,
                                .lane_type = DataType::kFloat32,
                                .output_type = DataType::kFloat32,
                                .is_packed = true};

constexpr ModelSpeeds kTwoCores = {.latency = microseconds(1), .memory = 20};

const Machine kMachines[] = {
    {"fast_bus", kTwoCores, {microseconds(40), microseconds(4), 25, 25, 2000}},
    {"slow_bus", kTwoCores, {microseconds(60), microseconds(5), 6, 6, 400}},
    {"shared_memory", kTwoCores, {microseconds(150), microseconds(10), 12, 12, 50}},
};

// A chain of `steps` kernels of which each reads and writes `bytes`, on its own.
struct Work {
  uint64_t bytes;
  uint64_t steps;
};

Clock::Duration TrueTime(const ModelSpeeds& speeds, const Work& work) {
  return ModelTime(speeds, work.bytes, work.bytes, work.steps, 2 * work.bytes * work.steps);
}

// A device, what was learnt of it, and what it has been given.
struct Placed {
  ModelSpeeds speeds;
  CostModel costs;
  Clock::Duration expected{};
  Clock::Duration taken{};

  Clock::Duration EstimateOf(const Work& work) const {
    if (work.steps == 1) return costs.EstimateAny(1, 2 * work.bytes);
    return *costs.EstimateSequence({.edge_bytes = 2 * work.bytes,
                                    .steps = work.steps,
                                    .step_bytes = 2 * work.bytes * work.steps});
  }
  Candidate AsCandidate(DeviceKind kind, const Work& work) const {
    return {.kind = kind, .can_run = true, .backlog = expected, .estimate = EstimateOf(work)};
  }
  void Give(const Work& work) {
    expected += EstimateOf(work);
    taken += TrueTime(speeds, work);
  }
};

class PlacementRegretTest : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    for (Placed* const placed : {&cpu_, &gpu_}) {
      placed->speeds = placed == &cpu_ ? GetParam().cpu : GetParam().gpu;
      ModelDevice device(NullProfile("model", false), placed->speeds, clock_);
      ASSERT_TRUE(Calibrate(device, clock_, uint64_t{32} << 20, placed->costs).ok());
    }
  }

  // How much longer `load` requests that come at once take than all of them on the better device.
  double RegretOf(const Work& work, int load) {
    cpu_.expected = cpu_.taken = gpu_.expected = gpu_.taken = {};
    for (int i = 0; i < load; ++i) {
      std::vector<Candidate> candidates = {cpu_.AsCandidate(DeviceKind::kCpu, work),
                                           gpu_.AsCandidate(DeviceKind::kGpu, work)};
      candidates[1].carriage = cpu_.costs.EstimateCopy(6 * work.bytes);
      (Choose(candidates, Placement::kAuto) == 0 ? cpu_ : gpu_).Give(work);
    }
    const Clock::Duration best =
        load * std::min(TrueTime(cpu_.speeds, work), TrueTime(gpu_.speeds, work));
    const auto took = static_cast<double>(std::max(cpu_.taken, gpu_.taken).count());
    return took / static_cast<double>(best.count()) - 1;
  }

  SimulatedClock clock_;
  Placed cpu_;
  Placed gpu_;
};

TEST_P(PlacementRegretTest, IsSmall) {
  double sum = 0;
  int cells = 0;
  for (uint64_t bytes = uint64_t{4} << 10; bytes <= uint64_t{256} << 20; bytes *= 2) {
    for (const uint64_t steps : {1, 2, 8, 64}) {
      for (const int load : {1, 4, 16, 64}) {
        const double regret = RegretOf({bytes, steps}, load);
        // The processor keeps what a GPU does not do clearly faster, and estimates err.
        EXPECT_LE(regret, 0.25) << bytes << " bytes, " << steps << " steps, load " << load;
        sum += regret;
        ++cells;
      }
    }
  }
  EXPECT_LE(sum / cells, 0.05);
}

// The GPU was measured while it was ten times as slow, as those are that throttle or still wake up.
TEST_P(PlacementRegretTest, AGpuThatIsFastAgainIsFoundAtLittleCost) {
  constexpr int kRequests = 20'000;
  for (uint64_t bytes = uint64_t{4} << 10; bytes <= uint64_t{256} << 20; bytes *= 256) {
    // One after the other, by a kernel that takes as long as eight.
    const uint64_t moved = 2 * bytes;
    const Clock::Duration cpu_time = TrueTime(cpu_.speeds, {bytes, 8});
    const Clock::Duration gpu_time = TrueTime(gpu_.speeds, {bytes, 8});
    for (int i = 0; i < 20; ++i) {
      cpu_.costs.Observe(kRoundLane, moved, cpu_time);
      gpu_.costs.Observe(kRoundLane, moved, 10 * gpu_time);
    }
    std::vector<Candidate> candidates(2);
    candidates[0].kind = DeviceKind::kCpu;
    candidates[1].can_run = true;
    ProbeBudget budget;
    uint64_t probes = 0;
    Clock::Duration taken{};
    for (int i = 0; i < kRequests; ++i) {
      candidates[0].estimate = cpu_.costs.Estimate(kRoundLane, moved);
      candidates[1].estimate = gpu_.costs.Estimate(kRoundLane, moved);
      size_t chosen = Choose(candidates, Placement::kAuto);
      const std::optional<Probe> probe = ProbeOf(candidates, chosen, probes);
      if (budget.Spend(Completion(candidates[chosen]), probe->loss)) {
        chosen = probe->position;
        ++probes;
      }
      const Clock::Duration took = chosen == 0 ? cpu_time : gpu_time;
      (chosen == 0 ? cpu_ : gpu_).costs.Observe(kRoundLane, moved, took);
      taken += took;
    }
    // Against what it would choose if it had known from the first request on.
    candidates[0].estimate = cpu_time;
    candidates[1].estimate = gpu_time;
    const size_t right = Choose(candidates, Placement::kAuto);
    const auto best = static_cast<double>((kRequests * *candidates[right].estimate).count());
    EXPECT_LE(static_cast<double>(taken.count()) / best - 1, 0.05) << bytes << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, PlacementRegretTest, ::testing::ValuesIn(kMachines),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace opserve::testing
