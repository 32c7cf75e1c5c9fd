// Section "placed": very many small tensors that stay on the device.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

constexpr size_t kPerBatch = 250;

// Seconds for a call on each of `contents` in batches; where it is empty, for `count` calls on
// inputs that no device keeps.
absl::StatusOr<double> SecondsOfCalls(d3d12::D3D12Device& device, SmallCalls& batch,
                                      std::span<const ContentId> contents, size_t count) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t done = 0; done < count; done += kPerBatch) {
    const std::span<DeviceCall> calls = batch.calls().first(std::min(kPerBatch, count - done));
    for (size_t i = 0; i < calls.size(); ++i) {
      TensorBytes& input = calls[i].inputs[0];
      input = {input.data(), contents.empty() ? kNoContent : contents[done + i]};
    }
    if (absl::Status status = device.Run(calls); !status.ok()) return status;
  }
  return SecondsSince(start);
}

Row ThousandsRow(std::string name, size_t count, double seconds, double ceiling_seconds,
                 std::string against) {
  const double thousands = static_cast<double>(count) * 1e-3;
  return {.name = std::move(name),
          .bytes = SmallCalls::kBytes,
          .unit = "k/s",
          .value = thousands / seconds,
          .ceiling = thousands / ceiling_seconds,
          .against = std::move(against)};
}

}  // namespace

absl::Status MeasurePlacedTensors(BenchContext& context, SectionResult& result) {
  const size_t count = context.Sized(10'000, 10'000, 1'000);
  const auto device = context.MakeDevice();
  if (!device.ok()) return device.status();
  SmallCalls batch(kOneBenchCase, kPerBatch);
  std::vector<ContentId> contents(count);
  for (ContentId& content : contents) content = context.NextContent();
  // Once before, so that memory and pipeline are there.
  absl::StatusOr<double> uploaded = SecondsOfCalls(**device, batch, {}, kPerBatch);
  if (uploaded.ok()) uploaded = SecondsOfCalls(**device, batch, {}, count);
  if (!uploaded.ok()) return uploaded.status();
  const uint64_t before = (*device)->pooled_bytes();
  const absl::StatusOr<double> placed = SecondsOfCalls(**device, batch, contents, count);
  if (!placed.ok()) return placed.status();
  const uint64_t taken = (*device)->pooled_bytes() - before;
  const uint64_t kept_before = (*device)->transfers().kept_inputs;
  const absl::StatusOr<double> read = SecondsOfCalls(**device, batch, contents, count);
  if (!read.ok()) return read.status();
  const uint64_t found = (*device)->transfers().kept_inputs - kept_before;
  result.rows.push_back(
      ThousandsRow("calls that place inputs", count, *placed, *uploaded, "uploaded"));
  result.rows.push_back(
      ThousandsRow("calls on placed inputs", count, *read, *uploaded, "uploaded"));
  result.rows.push_back({.name = "placed inputs found",
                         .value = static_cast<double>(found),
                         .ceiling = static_cast<double>(count),
                         .against = "placed",
                         .goal = {Goal::Kind::kAtLeast, 1}});
  result.rows.push_back(
      {.name = "memory that they take",
       .unit = "MiB",
       .value = static_cast<double>(taken) / static_cast<double>(kMiB),
       .ceiling = static_cast<double>(count * SmallCalls::kBytes) / static_cast<double>(kMiB),
       .against = "content"});
  result.notes.push_back(absl::StrCat(count, " tensors, in batches of ", kPerBatch, " calls."));
  return absl::OkStatus();
}

}  // namespace opserve::bench
