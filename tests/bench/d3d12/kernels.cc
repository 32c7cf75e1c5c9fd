// Section "kernels": on data of the device, against a kernel that only copies.

#include <cmath>
#include <utility>

#include "server/d3d12/runtime/hresult.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/bound_call.h"
#include "tests/bench/d3d12/repeated_work.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

// What kernels are to reach of the copy shader. Those with divisions have more to do than to move.
constexpr Goal kKernelGoal = {Goal::Kind::kAtLeast, 0.9};

// The kernel on inputs that the device has, again and again. `call` must outlive it.
RepeatedWork KernelWorkOf(DeviceMeter& meter, const BoundCall& call) {
  return WorkOf(
      meter,
      [&call](ID3D12GraphicsCommandList& list) {
        call.RecordInputsThere(list);
        call.RecordKernelState(list);
      },
      [&call](ID3D12GraphicsCommandList& list) { call.RecordKernel(list); });
}

absl::StatusOr<std::unique_ptr<BoundCall>> BindCopyShader(DeviceMeter& meter, uint64_t total) {
  return BoundCall::Create(meter, CallOfBytes(kCopyShader, total / 2));
}

absl::Status MeasureKernel(BenchContext& context, DeviceMeter& meter, const BenchCase& each,
                           uint64_t total, SectionResult& result) {
  const auto one = MakePackedCall(each.op, each.type, 0, 1);
  uint64_t per_element = one->output_bytes;
  for (int i = 0; i < TraitsOf(each.op).input_count(); ++i) per_element += one->input_bytes[i];
  const auto call =
      BoundCall::Create(meter, CallOfBytes(each, total / per_element * SizeOf(each.type)));
  if (!call.ok()) return call.status();
  const auto copy = BindCopyShader(meter, (*call)->total_bytes());
  if (!copy.ok()) return copy.status();
  const absl::StatusOr<std::vector<double>> seconds = MeasureRepeated(
      {KernelWorkOf(meter, **call), KernelWorkOf(meter, **copy)}, context.options().seconds);
  if (!seconds.ok()) return seconds.status();
  result.rows.push_back(RateRow(NameOf(each), total, (*call)->total_bytes(), (*seconds)[0],
                                (*seconds)[1], "copy shader"));
  if (each.op != OpId::ELEMENT_WISE_MODULUS_TRUNCATE) result.rows.back().goal = kKernelGoal;
  return absl::OkStatus();
}

// The copy shader itself, against the copy command, and what the memory can do if that is known.
absl::Status MeasureCopies(BenchContext& context, DeviceMeter& meter, uint64_t total,
                           SectionResult& result) {
  const auto shader = BindCopyShader(meter, total);
  if (!shader.ok()) return shader.status();
  const uint64_t half = total / 2;
  d3d12::ComPtr<ID3D12Resource> memory[2];
  for (d3d12::ComPtr<ID3D12Resource>& buffer : memory) {
    OPSERVE_RETURN_IF_ERROR(meter.MakeBuffer(half, buffer));
  }
  const RepeatedWork copy = WorkOf(meter, [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(memory[1].Get(), 0, memory[0].Get(), 0, half);
  });
  const absl::StatusOr<std::vector<double>> seconds =
      MeasureRepeated({KernelWorkOf(meter, **shader), copy}, context.options().seconds);
  if (!seconds.ok()) return seconds.status();
  const auto add = [&](double ceiling_seconds, const char* against) {
    result.rows.push_back(
        RateRow("copy shader (IDENTITY)", total, total, (*seconds)[0], ceiling_seconds, against));
  };
  add((*seconds)[1], "copy cmd");
  if (const auto bandwidth = context.options().memory_bandwidth; bandwidth.has_value()) {
    add(static_cast<double>(total) / *bandwidth, "theory");
  } else {
    result.notes.push_back(
        "What the memory can do in theory is not known: no driver tells it. With "
        "--memory-bandwidth GB/S, from the maker's data sheet, there is a row for it.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureKernels(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<DeviceMeter*> meter = context.Meter();
  if (!meter.ok()) return meter.status();
  // On hardware far more than any cache has.
  const uint64_t total = context.Sized(256, 8, 2) * kMiB;
  OPSERVE_RETURN_IF_ERROR(MeasureCopies(context, **meter, total, result));
  for (const BenchCase& each : AllBenchCases()) {
    OPSERVE_RETURN_IF_ERROR(MeasureKernel(context, **meter, each, total, result));
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
