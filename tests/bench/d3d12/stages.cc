// Section "stages": where the time of one call goes.

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/bound_call.h"
#include "tests/bench/d3d12/gpu_timestamps.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

// What one call does one after the other; the device's are by its own clock.
enum Stage { kFill, kUp, kKernel, kDown, kAround, kEmpty, kStageCount };

constexpr const char* kStageNames[kStageCount] = {"host: fill the ring", "device: up",
                                                  "device: kernel",      "device: down",
                                                  "host: submit, wait",  "host: empty the ring"};

// Times of each stage, a run each.
using StageTimes = std::vector<double>[kStageCount];

// Marks in the command list: before the first stage of the device, and behind each.
constexpr uint32_t kMarks = 4;

absl::Status RunStages(DeviceMeter& meter, const GpuTimestamps& clock, BoundCall& call,
                       StageTimes& times) {
  const auto start = std::chrono::steady_clock::now();
  call.FillRing();
  const double fill = SecondsSince(start);
  const absl::StatusOr<double> submitted = meter.Submit([&](ID3D12GraphicsCommandList& list) {
    clock.Mark(list, 0);
    call.RecordUpload(list);
    clock.Mark(list, 1);
    call.RecordKernelState(list);
    call.RecordKernel(list);
    clock.Mark(list, 2);
    call.RecordReadback(list);
    clock.Mark(list, 3);
    clock.Resolve(list);
  });
  if (!submitted.ok()) return submitted.status();
  const auto done = std::chrono::steady_clock::now();
  call.EmptyRing();
  times[kFill].push_back(fill);
  times[kUp].push_back(clock.Seconds(0, 1));
  times[kKernel].push_back(clock.Seconds(1, 2));
  times[kDown].push_back(clock.Seconds(2, 3));
  times[kAround].push_back(std::max(0.0, *submitted - clock.Seconds(0, kMarks - 1)));
  times[kEmpty].push_back(SecondsSince(done));
  return absl::OkStatus();
}

// What memcpy takes for as many bytes as the call takes and gives.
double CopySeconds(const BenchContext& context, uint64_t bytes) {
  const Buffer from(bytes);
  Buffer to(bytes);
  return context.Seconds({{[&](int) { std::memcpy(to.data(), from.data(), bytes); }}})[0];
}

absl::Status MeasureStagesOf(BenchContext& context, DeviceMeter& meter, uint64_t bytes,
                             SectionResult& result) {
  const absl::StatusOr<GpuTimestamps> clock = GpuTimestamps::Create(meter, kMarks);
  if (!clock.ok()) return clock.status();
  const absl::StatusOr<std::unique_ptr<BoundCall>> call =
      BoundCall::Create(meter, CallOfBytes(kOneBenchCase, bytes));
  if (!call.ok()) return call.status();
  StageTimes warm_up;
  if (absl::Status status = RunStages(meter, *clock, **call, warm_up); !status.ok()) return status;
  StageTimes times;
  const auto start = std::chrono::steady_clock::now();
  do {
    if (absl::Status status = RunStages(meter, *clock, **call, times); !status.ok()) return status;
  } while (SecondsSince(start) < 2 * context.options().seconds || times[kFill].size() < 5);
  double whole = 0;
  for (const std::vector<double>& each : times) whole += Median(each);
  for (int stage = 0; stage < kStageCount; ++stage) {
    result.rows.push_back({.name = kStageNames[stage],
                           .bytes = bytes,
                           .unit = "us",
                           .value = Median(times[stage]) * 1e6,
                           .ceiling = whole * 1e6,
                           .against = "whole"});
  }
  result.rows.push_back({.name = "whole",
                         .bytes = bytes,
                         .unit = "us",
                         .value = whole * 1e6,
                         .ceiling = CopySeconds(context, (*call)->input_bytes()) * 1e6,
                         .against = "memcpy"});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureStages(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<DeviceMeter*> meter = context.Meter();
  if (!meter.ok()) return meter.status();
  result.notes.push_back(absl::StrCat(
      "One call of ", NameOf(kOneBenchCase),
      ", whose inputs have that size. \"submit, wait\" is what the host waits for beside the "
      "device's three stages."));
  for (const uint64_t bytes : {64 * kKiB, kMiB, context.Sized(16, 4, 2) * kMiB}) {
    if (absl::Status status = MeasureStagesOf(context, **meter, bytes, result); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
