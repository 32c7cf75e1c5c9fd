// What commands show of devices, self-tests and executions, and to programs.

#include "client/cli/report.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_split.h"
#include "client/cli/bench_answers.h"
#include "client/cli/device_report.h"
#include "client/cli/run_report.h"
#include "client/cli/tensor_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceInfo Cpu() {
  DeviceInfo cpu;
  cpu.name = "cpu/AVX3";
  cpu.kind = DeviceInfo::Kind::kCpu;
  cpu.state = DeviceInfo::State::kReady;
  cpu.threads = 2;
  return cpu;
}

DeviceInfo Gpu() {
  DeviceInfo gpu;
  gpu.name = "d3d12/X";
  gpu.kind = DeviceInfo::Kind::kGpu;
  gpu.runtime = "vkd3d";
  gpu.driver = "drv 1.2";
  gpu.feature_level = "11_0";
  gpu.memory_bytes = 16ull << 30;
  gpu.state = DeviceInfo::State::kQuarantined;
  gpu.state_reason = "2 results were wrong";
  gpu.pending_requests = 1200;
  gpu.pending_bytes = 3 << 20;
  gpu.batches_in_flight = 2;
  gpu.memory_budget_bytes = 1 << 30;
  gpu.kept_bytes = 4096;
  gpu.counters = {.requests = 12345,
                  .batches = {{1, 3}, {4, 2}},
                  .verified = 50,
                  .mismatches = 2,
                  .faults = 1,
                  .losses = 4,
                  .moved = 5,
                  .uploaded_bytes = 6,
                  .kept_inputs = 7,
                  .evictions = 8,
                  .kept_results = 9,
                  .read_results = 10,
                  .recomputed_results = 11};
  return gpu;
}

// What `print` prints.
template <class Print>
std::string Printed(Print print, bool on_terminal = false) {
  std::ostringstream out;
  print(Terminal{.out = out, .err = out, .out_is_terminal = on_terminal});
  return out.str();
}

TEST(TensorReportTest, TheFirstValuesFollowTheStrides) {
  const auto first_values = [](std::vector<uint32_t> sizes, std::vector<uint32_t> strides) {
    const std::string bytes = "\1\2\3\4\5\6";
    const auto tensor =
        Tensor::FromBytes({DataType::kUint8, std::move(sizes), std::move(strides)}, bytes);
    return ToJson(*tensor)["first_values"].dump();
  };
  EXPECT_EQ(first_values({2, 3}, {}), "[1,2,3,4,5,6]");
  EXPECT_EQ(first_values({2, 3}, {1, 2}), "[1,3,5,2,4,6]");
  EXPECT_EQ(first_values({1u << 31, 1u << 30, 6}, {0, 0, 1}), "[1,2,3,4,5,6,1,2]");
  EXPECT_EQ(ToJson(Tensor())["first_values"].dump(), "[]");
}

TEST(JsonTest, IsUtf8WhateverTextsAre) {
  const std::string printed = Printed([](const Terminal& terminal) {
    WriteJson({{"file", "\xff.npy"}, {"label", "\xc3\xa4"}}, terminal);
  });
  EXPECT_EQ(printed,
            "{\n"
            "  \"file\": \"\xef\xbf\xbd.npy\",\n"
            "  \"label\": \"\xc3\xa4\"\n"
            "}\n");
}

TEST(DeviceReportTest, ARowPerDeviceInEachTableAndReasonsBelow) {
  const std::string printed = Printed([](const Terminal& terminal) {
    PrintDevices({Cpu(), Gpu()}, terminal);
  });
  EXPECT_EQ(printed,
            "NAME      KIND  MEMORY  STATE        LOAD\n"
            "cpu/AVX3  CPU   -       READY        idle\n"
            "d3d12/X   GPU   16 GiB  QUARANTINED  2 running, 1,200 waiting (3 MiB)\n"
            "d3d12/X is QUARANTINED: 2 results were wrong\n"
            "\n"
            "NAME      REQUESTS  AVG BATCH  VERIFIED  MISMATCHES  FAULTS\n"
            "cpu/AVX3  0         -          0         0           0\n"
            "d3d12/X   12,345    2.2        50        2           1\n"
            "\n"
            "NAME     RUNTIME  DRIVER\n"
            "d3d12/X  vkd3d    drv 1.2\n");
}

TEST(DeviceReportTest, ReasonsCannotMoveTheCursor) {
  DeviceInfo gpu = Gpu();
  gpu.state_reason = "d\u00fcst\n\033[2J";
  const std::string printed =
      Printed([&](const Terminal& terminal) { PrintDevices({gpu}, terminal); });
  EXPECT_THAT(printed, HasSubstr("d3d12/X is QUARANTINED: d\u00fcst\\n\\033[2J\n"));
}

TEST(DeviceReportTest, FitsATerminal) {
  DeviceInfo gpu = Gpu();
  gpu.software = true;
  gpu.name = "cpu/AVX3_ZEN4";
  gpu.driver = "a driver that has more to say of itself than anybody would like to read, version 1";
  gpu.pending_requests = 1'000'000;
  gpu.counters.requests = gpu.counters.verified = gpu.counters.mismatches = 1'000'000'000'000;
  const std::string printed = Printed([&](const Terminal& terminal) {
    PrintDevices({gpu, Cpu()}, terminal);
  });
  for (const absl::string_view line : absl::StrSplit(printed, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(DeviceReportTest, AHealthyDeviceHasNoLineBelow) {
  const std::string printed =
      Printed([](const Terminal& terminal) { PrintDevices({Cpu()}, terminal); });
  EXPECT_THAT(printed, Not(HasSubstr(" is ")));
}

TEST(DeviceReportTest, ColoursAreForTerminalsAndDoNotShiftColumns) {
  const auto print = [](const Terminal& terminal) { PrintDevices({Cpu(), Gpu()}, terminal); };
  const std::string plain = Printed(print);
  std::string coloured = Printed(print, /*on_terminal=*/true);
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(coloured, HasSubstr("\033[32mREADY\033[0m"));
  EXPECT_THAT(coloured, HasSubstr("\033[31mQUARANTINED\033[0m"));
  EXPECT_THAT(coloured, HasSubstr("\033[31m2\033[0m"));
  for (const std::string code : {"\033[0m", "\033[1m", "\033[31m", "\033[32m"}) {
    for (size_t at; (at = coloured.find(code)) != std::string::npos;) {
      coloured.erase(at, code.size());
    }
  }
  EXPECT_EQ(coloured, plain);
}

TEST(DeviceReportTest, ASoftwareAdapterIsNamedAsOne) {
  DeviceInfo gpu = Gpu();
  EXPECT_EQ(ShowKind(gpu), "GPU");
  gpu.software = true;
  EXPECT_EQ(ShowKind(gpu), "GPU (software)");
}

TEST(DeviceReportTest, ProgramsGetEverything) {
  EXPECT_EQ(ToJson(Gpu()), nlohmann::ordered_json::parse(R"({
    "name": "d3d12/X", "description": "", "kind": "GPU", "threads": 0, "runtime": "vkd3d",
    "driver": "drv 1.2", "feature_level": "11_0", "memory_bytes": 17179869184, "software": false,
    "state": "QUARANTINED", "state_reason": "2 results were wrong", "pending_requests": 1200,
    "pending_bytes": 3145728, "batches_in_flight": 2, "memory_budget_bytes": 1073741824, "kept_bytes": 4096,
    "lease_left_ms": 0,
    "counters": {"requests": 12345,
                 "batches": [{"size": 1, "count": 3}, {"size": 4, "count": 2}],
                 "verified": 50, "mismatches": 2, "faults": 1, "losses": 4, "moved": 5,
                 "uploaded_bytes": 6, "kept_inputs": 7, "evictions": 8,
                 "kept_results": 9, "read_results": 10, "recomputed_results": 11}})"));
  EXPECT_EQ(ToJson(Cpu())["counters"]["batches"], nlohmann::ordered_json::array());
}

TEST(SelfTestReportTest, PassAndFail) {
  const std::vector<SelfTestReport> reports = {
      {"d3d12/X", true, 1500, "", absl::Milliseconds(250)},
      {"d3d12/Y", false, 3, "element 3 differs", absl::Microseconds(12)}};
  EXPECT_EQ(Printed([&](const Terminal& terminal) { PrintSelfTests(reports, terminal); }),
            "NAME     RESULT  CASES  TIME\n"
            "d3d12/X  PASS    1,500  250 ms\n"
            "d3d12/Y  FAIL    3      12.0 us\n"
            "d3d12/Y: element 3 differs\n");
  EXPECT_EQ(ToJson(reports[1]), nlohmann::ordered_json::parse(R"({
    "device": "d3d12/Y", "passed": false, "cases": 3, "failure": "element 3 differs",
    "duration_ns": 12000})"));
}

TEST(SelfTestReportTest, NoTestIsNoPass) {
  const SelfTestReport good = {"X", true, 1, "", absl::ZeroDuration()};
  const SelfTestReport bad = {"Y", false, 1, "", absl::ZeroDuration()};
  EXPECT_FALSE(AllPassed({}));
  EXPECT_TRUE(AllPassed({good, good}));
  EXPECT_FALSE(AllPassed({good, bad}));
}

TEST(RunReportTest, NamesDeviceBatchAttemptsAndVerification) {
  ExecutionInfo info = {"cpu/AVX3", 1, absl::Microseconds(20), absl::Microseconds(1500), 1,
                        false,      1};
  EXPECT_EQ(ShowExecution(info), "device: cpu/AVX3, batch of 1, 1 attempt, not verified");
  EXPECT_EQ(ShowTimes(info, absl::Milliseconds(2)),
            "ran for 1.50 ms, queued for 20.0 us, round trip 2.00 ms");
  info.device = "d3d12/X";
  info.batch_size = 64;
  info.attempts = 2;
  info.verified = true;
  info.sends = 3;
  EXPECT_EQ(ShowExecution(info),
            "device: d3d12/X, batch of 64, 2 attempts, verified, sent 3 times");
  EXPECT_EQ(ToJson(info, absl::Milliseconds(2)), nlohmann::ordered_json::parse(R"({
    "device": "d3d12/X", "batch_size": 64, "queue_time_ns": 20000, "run_time_ns": 1500000,
    "round_trip_ns": 2000000, "attempts": 2, "verified": true, "sends": 3,
    "path": "MESSAGE"})"));
}

TEST(BenchAnswersTest, CountsPerDevice) {
  BenchAnswers answers;
  EXPECT_TRUE(answers.devices().empty());
  ExecutionInfo info;
  info.device = "d3d12/X";
  info.batch_size = 3;
  info.attempts = 1;
  info.verified = true;
  answers.Add(info);
  info.batch_size = 5;
  info.attempts = 2;
  info.verified = false;
  answers.Add(info);
  info.device = "cpu";
  answers.Add(info);
  const auto devices = answers.devices();
  ASSERT_EQ(devices.size(), 2u);
  const DeviceAnswers& gpu = devices.at("d3d12/X");
  EXPECT_EQ(gpu.calls, 2u);
  EXPECT_DOUBLE_EQ(gpu.MeanBatch(), 4);
  EXPECT_EQ(gpu.retried, 1u);
  EXPECT_EQ(gpu.verified, 1u);
  EXPECT_EQ(devices.at("cpu").calls, 1u);
  EXPECT_DOUBLE_EQ(DeviceAnswers().MeanBatch(), 0);
}

}  // namespace
}  // namespace opserve::cli
