// Section "oversubscription": more to keep than there is memory for.

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/device/cpu/cpu_device.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/d3d12/table.h"

namespace opserve::bench {
namespace {

constexpr uint64_t kTensorBytes = kMiB;

// One call, on inputs that are all alike, of which each counts as another one.
struct RotatingCall {
  explicit RotatingCall(const BenchCase& each)
      : invocation(CallOfBytes(each, kTensorBytes)), buffers(*invocation, Values::kUsual) {}

  // Runs it on each of `contents`; DATA_LOSS where a result is not the processor's.
  absl::Status RunOnAll(d3d12::D3D12Device& device, const std::vector<ContentId>& contents,
                        const Buffer& expected) {
    DeviceCall call = CallWith(*invocation, buffers);
    for (const ContentId content : contents) {
      call.inputs[0] = {buffers.inputs[0].data(), content};
      std::memset(call.output, 0xEE, invocation->output_bytes);
      if (absl::Status status = device.Run({&call, 1}); !status.ok()) return status;
      if (std::memcmp(call.output, expected.data(), expected.size()) != 0) {
        return absl::DataLossError("A result is not that of the processor.");
      }
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const Invocation> invocation;
  CallBuffers buffers;
};

absl::StatusOr<Buffer> ExpectedOf(RotatingCall& rotating) {
  Buffer expected(rotating.invocation->output_bytes);
  DeviceCall call = CallWith(*rotating.invocation, rotating.buffers);
  call.output = expected.data();
  if (absl::Status status = CpuDevice(1).Run({&call, 1}); !status.ok()) return status;
  return expected;
}

// Calls per second on `budget` times `share` bytes of inputs, in turns.
absl::StatusOr<double> CallsPerSecond(BenchContext& context, uint64_t budget, double share) {
  const auto device = context.MakeDevice({.memory_budget = budget});
  if (!device.ok()) return device.status();
  const double tensors = share * static_cast<double>(budget) / static_cast<double>(kTensorBytes);
  std::vector<ContentId> contents(static_cast<size_t>(tensors));
  for (ContentId& content : contents) content = context.NextContent();
  RotatingCall rotating(kOneBenchCase);
  const absl::StatusOr<Buffer> expected = ExpectedOf(rotating);
  if (!expected.ok()) return expected.status();
  // Once before, so that all is placed that there is room for.
  if (absl::Status status = rotating.RunOnAll(**device, contents, *expected); !status.ok()) {
    return status;
  }
  const auto start = std::chrono::steady_clock::now();
  size_t calls = 0;
  do {
    if (absl::Status status = rotating.RunOnAll(**device, contents, *expected); !status.ok()) {
      return status;
    }
    calls += contents.size();
  } while (SecondsSince(start) < context.options().seconds);
  const double seconds = SecondsSince(start);
  if ((*device)->pooled_bytes() > budget) {
    return absl::InternalError("The device has taken more than its budget.");
  }
  return static_cast<double>(calls) / seconds;
}

}  // namespace

absl::Status MeasureOversubscription(BenchContext& context, SectionResult& result) {
  const uint64_t budget = context.Sized(512, 256, 96) * kMiB;
  double fits = 0;
  for (const double share : {0.25, 0.5, 1.0, 2.0}) {
    const absl::StatusOr<double> rate = CallsPerSecond(context, budget, share);
    if (!rate.ok()) return rate.status();
    if (fits == 0) fits = *rate;
    result.rows.push_back({.name = absl::StrFormat("%g x budget", share),
                           .bytes = kTensorBytes,
                           .unit = "1/s",
                           .value = *rate,
                           .ceiling = fits,
                           .against = "what fits"});
  }
  result.notes.push_back(absl::StrCat(
      "A device that may take ", SizeText(budget),
      ", so that others on the machine lose no memory. Inputs are used in turns: the worst order "
      "for what does not fit. Each result was compared with the processor's, to the bit, within "
      "the time; the device never took more than it may."));
  return absl::OkStatus();
}

}  // namespace opserve::bench
