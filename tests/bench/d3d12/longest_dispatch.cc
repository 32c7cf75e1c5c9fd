// Section "dispatch": whether large calls are cut into commands that are short enough.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/kernel_costs.h"
#include "server/d3d12/runtime/hresult.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/bound_call.h"
#include "tests/bench/d3d12/gpu_timestamps.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/testing/request_builder.h"

namespace opserve::bench {
namespace {

// How long a command may be expected to take, as devices have it.
const std::chrono::nanoseconds kLongest = d3d12::DeviceOptions().longest_dispatch;

// A call whose inputs are transposed matrices: every element is read at another place.
std::shared_ptr<const Invocation> TransposedCall(const BenchCase& each, uint64_t bytes) {
  constexpr uint32_t kColumns = 1024;
  const auto rows = static_cast<uint32_t>(bytes / kColumns / SizeOf(each.type));
  testing::RequestBuilder builder{std::string(TraitsOf(each.op).name)};
  for (int i = 0; i < TraitsOf(each.op).input_count(); ++i) {
    builder.Input({.type = each.type, .sizes = {rows, kColumns}, .strides = {1, rows}});
  }
  builder.Output({.type = each.type, .sizes = {rows, kColumns}});
  return builder.Validate({.max_tensor_bytes = UINT64_MAX}).invocation;
}

// The least that the device computes of the call, so that it has the kernel in the end: drivers may
// compile at the first dispatch.
absl::Status WarmUp(DeviceMeter& meter, const BoundCall& call) {
  d3d12::Dispatch dispatch = call.dispatch();
  dispatch.most_blocks = 1;
  const auto record = [&](ID3D12GraphicsCommandList& list) {
    call.RecordInputsThere(list);
    call.RecordKernelState(list);
    call.RecordPiece(list, d3d12::PiecesOf(call.kernel(), dispatch).front());
  };
  return meter.Submit(record).status();
}

// What the commands of one run took.
struct DispatchTimes {
  size_t count = 0;
  double longest = 0;
  double all = 0;
};

// Runs the call in the pieces that the device makes of it by what it has learnt, a submission each,
// and teaches it.
absl::StatusOr<DispatchTimes> RunInPieces(DeviceMeter& meter, const GpuTimestamps& clock,
                                          const BoundCall& call, d3d12::KernelCosts& costs) {
  d3d12::Dispatch dispatch = call.dispatch();
  d3d12::KernelWork work{{call.kernel(), dispatch.loop_count}};
  dispatch.most_blocks = costs.BlocksWithin(work.variant, kLongest);
  DispatchTimes times;
  for (const d3d12::DispatchPiece& piece : d3d12::PiecesOf(call.kernel(), dispatch)) {
    const absl::StatusOr<double> submitted = meter.Submit([&](ID3D12GraphicsCommandList& list) {
      call.RecordInputsThere(list);
      call.RecordKernelState(list);
      clock.Mark(list, 0);
      call.RecordPiece(list, piece);
      clock.Mark(list, 1);
      clock.Resolve(list);
    });
    if (!submitted.ok()) return submitted.status();
    const double took = clock.Seconds(0, 1);
    times.longest = std::max(times.longest, took);
    times.all += took;
    ++times.count;
    work.blocks += piece.computed_blocks;
  }
  costs.Observe({&work, 1}, std::chrono::nanoseconds(static_cast<int64_t>(times.all * 1e9)));
  return times;
}

absl::Status MeasureDispatchesOf(DeviceMeter& meter, const std::string& name,
                                 std::shared_ptr<const Invocation> invocation, uint64_t bytes,
                                 SectionResult& result) {
  const absl::StatusOr<GpuTimestamps> clock = GpuTimestamps::Create(meter, 2);
  if (!clock.ok()) return clock.status();
  if (invocation == nullptr) return absl::InternalError("The call is not valid.");
  const auto call = BoundCall::Create(meter, std::move(invocation));
  if (!call.ok()) return call.status();
  OPSERVE_RETURN_IF_ERROR(WarmUp(meter, **call));
  d3d12::KernelCosts costs;
  for (const char* const known : {"guess", "learnt"}) {
    const absl::StatusOr<DispatchTimes> times = RunInPieces(meter, *clock, **call, costs);
    if (!times.ok()) return times.status();
    result.rows.push_back({.name = absl::StrCat(name, ", ", known, ", ", times->count),
                           .bytes = bytes,
                           .unit = "ms",
                           .value = times->longest * 1e3,
                           .ceiling = std::chrono::duration<double>(kLongest).count() * 1e3,
                           .against = "the limit",
                           .goal = {Goal::Kind::kAtMost, 1}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureLongestDispatch(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<DeviceMeter*> meter = context.Meter();
  if (!meter.ok()) return meter.status();
  const uint64_t bytes = context.Sized(128 * kMiB, 8 * kMiB, 256 * kKiB);
  constexpr BenchCase kExp = {OpId::ELEMENT_WISE_EXP, DataType::kFloat32};
  constexpr BenchCase kModulus = {OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kFloat32};
  OPSERVE_RETURN_IF_ERROR(
      MeasureDispatchesOf(**meter, "EXP", CallOfBytes(kExp, bytes), bytes, result));
  OPSERVE_RETURN_IF_ERROR(
      MeasureDispatchesOf(**meter, "EXP transp.", TransposedCall(kExp, bytes), bytes, result));
  OPSERVE_RETURN_IF_ERROR(
      MeasureDispatchesOf(**meter, "MODULUS tr.", TransposedCall(kModulus, bytes), bytes, result));
  result.notes.push_back(
      "FLOAT32. \"guess\": the first run of the kernel on a device, cut by its length; \"learnt\": "
      "the next one, cut by what the first one took. The number is that of commands. By the "
      "device's own clock.");
  return absl::OkStatus();
}

}  // namespace opserve::bench
