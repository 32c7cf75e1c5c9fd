#include "server/pool/placement.h"

#include <chrono>
#include <optional>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;

Candidate Cpu(int backlog_us, std::optional<int> estimate_us) {
  Candidate cpu;
  cpu.kind = DeviceKind::kCpu;
  cpu.can_run = true;
  cpu.backlog = microseconds(backlog_us);
  if (estimate_us) cpu.estimate = microseconds(*estimate_us);
  return cpu;
}

Candidate Gpu(int backlog_us, std::optional<int> estimate_us, size_t pending = 0) {
  Candidate gpu = Cpu(backlog_us, estimate_us);
  gpu.kind = DeviceKind::kGpu;
  gpu.pending = pending;
  return gpu;
}

Candidate Carried(Candidate gpu, int carriage_us) {
  gpu.carriage = microseconds(carriage_us);
  return gpu;
}

Candidate Software(Candidate gpu) {
  gpu.is_software = true;
  return gpu;
}

Candidate Unable(Candidate gpu) {
  gpu.can_run = false;
  return gpu;
}

Candidate Leased(Candidate gpu) {
  gpu.is_leased = true;
  return gpu;
}

struct Case {
  const char* name;
  std::vector<Candidate> candidates;
  Placement placement;
  size_t expected;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

class PlacementTest : public ::testing::TestWithParam<Case> {};

TEST_P(PlacementTest, ChoosesAsExpected) {
  EXPECT_EQ(Choose(GetParam().candidates, GetParam().placement), GetParam().expected);
}

TEST(LeasedPlacementTest, WaitsForALeasedGpuOnlyWhereItMust) {
  const std::vector<Candidate> one_free = {Cpu(0, 100), Leased(Gpu(0, 1)), Gpu(90, 9, 5)};
  EXPECT_EQ(Choose(one_free, Placement::kGpu), 2u);
  EXPECT_EQ(GpuInTurn(one_free, 0), 2u);
  EXPECT_EQ(GpuInTurn(one_free, 1), 2u);
  const std::vector<Candidate> all_leased = {Cpu(0, 100), Leased(Gpu(0, 9)), Leased(Gpu(0, 1))};
  EXPECT_EQ(Choose(all_leased, Placement::kGpu), 2u);
  EXPECT_EQ(Choose(all_leased, Placement::kAuto), 0u);
  EXPECT_EQ(GpuInTurn(all_leased, 3), 0u);
}

TEST(GpuInTurnTest, TurnsGoRoundTheUsable) {
  const std::vector<Candidate> candidates = {Cpu(0, 1), Gpu(0, 9), Unable(Gpu(0, 1)), Gpu(0, 5)};
  EXPECT_EQ(GpuInTurn(candidates, 0), 1u);
  EXPECT_EQ(GpuInTurn(candidates, 1), 3u);
  EXPECT_EQ(GpuInTurn(candidates, 2), 1u);
  const std::vector<Candidate> none = {Cpu(0, 1), Unable(Gpu(0, 1))};
  EXPECT_EQ(GpuInTurn(none, 7), 0u);
}

TEST(ProbeOfTest, IsAnotherDeviceThatAutoMayUse) {
  const std::vector<Candidate> candidates = {
      Cpu(10, 90),       Gpu(0, 40),           Software(Gpu(0, 1)), Leased(Gpu(0, 1)),
      Unable(Gpu(0, 1)), Gpu(0, std::nullopt), Gpu(50, 100)};
  for (const auto& [turn, position, loss_us] :
       {std::tuple(0, 0, 60), std::tuple(1, 6, 110), std::tuple(6, 6, 110), std::tuple(7, 0, 60)}) {
    const std::optional<Probe> probe = ProbeOf(candidates, 1, turn);
    ASSERT_TRUE(probe) << turn;
    EXPECT_EQ(probe->position, static_cast<size_t>(position)) << turn;
    EXPECT_EQ(probe->loss, microseconds(loss_us)) << turn;
  }
}

TEST(ProbeOfTest, LosesSomethingWhateverIsExpected) {
  // The processor keeps what a GPU is expected to do a little faster.
  const std::optional<Probe> probe = ProbeOf(std::vector{Cpu(0, 100), Gpu(0, 99)}, 0, 0);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->position, 1u);
  EXPECT_EQ(probe->loss, microseconds(25));
}

// Others wait for a processor that copies for one that is tried elsewhere.
TEST(ProbeOfTest, LosesWhatItKeepsTheProcessorFrom) {
  const std::optional<Probe> probe =
      ProbeOf(std::vector{Cpu(60, 40), Carried(Gpu(0, 90), 80)}, 0, 0);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->loss, microseconds(80));
}

TEST(ProbeOfTest, IsNoneWhereThereIsNoOther) {
  EXPECT_FALSE(ProbeOf(std::vector{Cpu(0, 100)}, 0, 3));
  EXPECT_FALSE(ProbeOf(std::vector{Cpu(0, 100), Gpu(0, std::nullopt)}, 0, 3));
  EXPECT_FALSE(ProbeOf(std::vector{Cpu(0, std::nullopt), Gpu(0, 5)}, 0, 3));
}

const Case kCases[] = {
    {"cpu_wins_if_asked_for", {Cpu(9000, 9000), Gpu(0, 1)}, Placement::kCpu, 0},
    {"cpu_alone_for_gpu", {Cpu(0, 1)}, Placement::kGpu, 0},
    {"cpu_alone_for_auto", {Cpu(0, 1)}, Placement::kAuto, 0},
    {"gpu_even_if_slower", {Cpu(0, 1), Gpu(9000, 9000)}, Placement::kGpu, 1},
    {"gpu_even_if_software", {Cpu(0, 1), Software(Gpu(0, 9))}, Placement::kGpu, 1},
    {"gpu_unable", {Cpu(0, 1), Unable(Gpu(0, 9))}, Placement::kGpu, 0},
    {"gpu_second_is_able", {Cpu(0, 1), Unable(Gpu(0, 9)), Gpu(0, 9)}, Placement::kGpu, 2},
    {"gpu_least_completion", {Cpu(0, 1), Gpu(50, 10), Gpu(20, 39)}, Placement::kGpu, 2},
    {"gpu_backlog_counts", {Cpu(0, 1), Gpu(90, 10), Gpu(10, 80)}, Placement::kGpu, 2},
    {"gpu_equal_completion_fewer_pending",
     {Cpu(0, 1), Gpu(50, 10, 4), Gpu(20, 40, 3)},
     Placement::kGpu,
     2},
    {"gpu_unknown_fewer_pending",
     {Cpu(0, 1), Gpu(0, 10, 4), Gpu(0, std::nullopt, 3)},
     Placement::kGpu,
     2},
    {"gpu_unknown_more_pending",
     {Cpu(0, 1), Gpu(0, 10, 2), Gpu(0, std::nullopt, 3)},
     Placement::kGpu,
     1},
    {"auto_gpu_clearly_faster", {Cpu(0, 1000), Gpu(0, 100)}, Placement::kAuto, 1},
    {"auto_gpu_within_margin", {Cpu(0, 1000), Gpu(0, 800)}, Placement::kAuto, 0},
    {"auto_gpu_just_beyond_margin", {Cpu(0, 1000), Gpu(0, 799)}, Placement::kAuto, 1},
    {"auto_gpu_slower", {Cpu(0, 100), Gpu(0, 1000)}, Placement::kAuto, 0},
    {"auto_busy_cpu", {Cpu(5000, 100), Gpu(0, 1000)}, Placement::kAuto, 1},
    {"auto_busy_gpu", {Cpu(0, 1000), Gpu(5000, 100)}, Placement::kAuto, 0},
    {"auto_busy_cpu_relieved", {Cpu(5000, 100), Carried(Gpu(0, 1000), 79)}, Placement::kAuto, 1},
    {"auto_busy_cpu_not_relieved",
     {Cpu(5000, 100), Carried(Gpu(0, 1000), 80)},
     Placement::kAuto,
     0},
    // Of the 4000 us that wait for the GPU half are the processor's.
    {"auto_busy_gpu_keeps_the_processor_busy",
     {Cpu(3200, 100), Carried(Gpu(4000, 40), 20)},
     Placement::kAuto,
     1},
    {"auto_carriage_is_part_of_the_run",
     {Cpu(0, 100), Carried(Gpu(0, 79), 500)},
     Placement::kAuto,
     1},
    {"gpu_whatever_the_carriage", {Cpu(0, 1), Carried(Gpu(0, 9), 9)}, Placement::kGpu, 1},
    {"auto_never_software", {Cpu(0, 1000), Software(Gpu(0, 1))}, Placement::kAuto, 0},
    {"auto_hardware_beside_software",
     {Cpu(0, 1000), Software(Gpu(0, 1)), Gpu(0, 100)},
     Placement::kAuto,
     2},
    {"auto_unknown_gpu", {Cpu(0, 1000), Gpu(0, std::nullopt)}, Placement::kAuto, 0},
    {"auto_unknown_beside_known",
     {Cpu(0, 1000), Gpu(0, std::nullopt), Gpu(0, 100, 5)},
     Placement::kAuto,
     2},
    {"auto_unknown_cpu", {Cpu(0, std::nullopt), Gpu(0, 1)}, Placement::kAuto, 0},
    {"auto_gpu_down", {Cpu(0, 1000), Unable(Gpu(0, 1))}, Placement::kAuto, 0},
};

INSTANTIATE_TEST_SUITE_P(Table, PlacementTest, ::testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace opserve::testing
