// Section "transfers": up, down, and both at once; and a large call each way that there is.

#include <cstring>
#include <optional>
#include <utility>

#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/transfer_way.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/bound_call.h"
#include "tests/bench/d3d12/repeated_work.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

// The call that only copies, with its memory of both ends, and a queue for copies alone.
struct TransferMemory {
  std::unique_ptr<BoundCall> call;
  std::unique_ptr<d3d12::Queue> copy_queue;
};

absl::Status MakeTransferMemory(DeviceMeter& meter, uint64_t bytes, TransferMemory& memory) {
  absl::StatusOr<std::unique_ptr<BoundCall>> call =
      BoundCall::Create(meter, CallOfBytes(kCopyShader, bytes));
  if (!call.ok()) return call.status();
  memory.call = *std::move(call);
  absl::StatusOr<std::unique_ptr<d3d12::Queue>> queue =
      d3d12::Queue::Create(meter.device(), D3D12_COMMAND_LIST_TYPE_COPY);
  if (!queue.ok()) return queue.status();
  memory.copy_queue = *std::move(queue);
  return absl::OkStatus();
}

// One in the queue for copies and one in the queue for kernels, as often each.
RepeatedWork BothAtOnce(DeviceMeter& meter, TransferMemory& memory, const Recorder& copy,
                        const Recorder& other) {
  return [&meter, &memory, copy, other](int repeats) -> absl::StatusOr<double> {
    const auto recorded = [repeats](const Recorder& record) {
      return [repeats, &record](ID3D12GraphicsCommandList& list) {
        for (int i = 0; i < repeats; ++i) record(list);
      };
    };
    const auto start = std::chrono::steady_clock::now();
    const absl::StatusOr<d3d12::Serial> first =
        memory.copy_queue->Submit(recorded(copy), kMeterTimeLimit);
    if (!first.ok()) return first.status();
    const absl::StatusOr<d3d12::Serial> second =
        meter.queue().Submit(recorded(other), kMeterTimeLimit);
    if (!second.ok()) return second.status();
    OPSERVE_RETURN_IF_ERROR(memory.copy_queue->timeline().Wait(*first, kMeterTimeLimit));
    OPSERVE_RETURN_IF_ERROR(meter.queue().timeline().Wait(*second, kMeterTimeLimit));
    return SecondsSince(start);
  };
}

// Seconds of memcpy: memory to memory, into the upload ring, out of the readback ring.
std::vector<double> HostSeconds(const BenchContext& context, BoundCall& call, uint64_t bytes) {
  const Buffer from(bytes);
  Buffer to(bytes);
  return context.Seconds({{[&](int) { std::memcpy(to.data(), from.data(), bytes); }},
                          {[&](int) { call.FillRing(); }},
                          {[&](int) { call.EmptyRing(); }}});
}

// Seconds of each way over the bus.
struct BusSeconds {
  double up = 0;
  double down = 0;
  double both = 0;
};

absl::StatusOr<std::pair<BusSeconds, BusSeconds>> MeasureBus(DeviceMeter& meter,
                                                             TransferMemory& memory,
                                                             double seconds) {
  const BoundCall& call = *memory.call;
  const Recorder state = [&call](auto& list) { call.RecordKernelState(list); };
  const Recorder up = [&call](auto& list) { call.RecordCopyUp(list); };
  const Recorder down = [&call](auto& list) { call.RecordCopyDown(list); };
  const absl::StatusOr<std::vector<double>> times = MeasureRepeated(
      {WorkOf(meter, up), WorkOf(meter, down), BothAtOnce(meter, memory, up, down),
       WorkOf(meter, state, [&call](auto& list) { call.RecordKernelFromRing(list); }),
       WorkOf(meter, state, [&call](auto& list) { call.RecordKernelIntoRing(list); }),
       WorkOf(meter, state, [&call](auto& list) { call.RecordKernelBetweenRings(list); })},
      6 * seconds);
  if (!times.ok()) return times.status();
  const std::vector<double>& took = *times;
  return std::pair(BusSeconds{took[0], took[1], took[2]}, BusSeconds{took[3], took[4], took[5]});
}

absl::Status MeasureTransfersOf(BenchContext& context, DeviceMeter& meter, uint64_t bytes,
                                SectionResult& result) {
  TransferMemory memory;
  OPSERVE_RETURN_IF_ERROR(MakeTransferMemory(meter, bytes, memory));
  // First of all, so that the pages of the rings are in memory.
  const std::vector<double> host = HostSeconds(context, *memory.call, bytes);
  const auto device = MeasureBus(meter, memory, context.options().seconds);
  if (!device.ok()) return device.status();
  const auto& [copies, kernel] = *device;
  // It was at work a moment ago, so its speed is that of transfers.
  const std::optional<PciLink> link = context.Link();
  const bool has_link = link.has_value() && link->bytes_per_second > 0;
  const double size = static_cast<double>(bytes);
  const double bus = has_link ? size / link->bytes_per_second : host[0];
  const std::string bus_name = has_link ? "PCIe link" : "memcpy";
  const auto add = [&](const char* name, double seconds, double ceiling, std::string against) {
    result.rows.push_back(RateRow(name, bytes, bytes, seconds, ceiling, std::move(against)));
  };
  add("memcpy into the ring", host[1], host[0], "memcpy");
  add("memcpy out of the ring", host[2], host[0], "memcpy");
  add("copies up", copies.up, bus, bus_name);
  add("copies down", copies.down, bus, bus_name);
  // Alone, the slower direction bounds both.
  add("copies both ways, each way", copies.both, std::max(copies.up, copies.down), "alone");
  add("a kernel's reads", kernel.up, bus, bus_name);
  add("a kernel's writes", kernel.down, bus, bus_name);
  add("a kernel's both, each way", kernel.both, std::max(kernel.up, kernel.down), "alone");
  if (has_link) {
    // Devices take the faster way.
    add("both at once, each way", std::min(copies.both, kernel.both), bus, bus_name);
    result.rows.back().goal = {Goal::Kind::kAtLeast, 0.8};
  }
  return absl::OkStatus();
}

// A large call, the same on a device for each way.
absl::Status MeasureWays(BenchContext& context, SectionResult& result) {
  const uint64_t bytes = context.Sized(256, 32, 16) * kMiB;
  const auto invocation = CallOfBytes(kOneBenchCase, bytes);
  CallBuffers buffers(*invocation, Values::kUsual);
  const DeviceCall call = CallWith(*invocation, buffers);
  const auto copies = context.MakeDevice({.transfers = d3d12::TransferWay::kCopies});
  if (!copies.ok()) return copies.status();
  const auto direct = context.MakeDevice({.transfers = d3d12::TransferWay::kDirect});
  if (!direct.ok()) return direct.status();
  const auto queues = context.MakeDevice({.transfers = d3d12::TransferWay::kCopyQueues});
  if (!queues.ok()) return queues.status();
  absl::Status status;
  const auto run_on = [&](d3d12::D3D12Device& device) {
    return [&](int) { status.Update(device.Run({&call, 1})); };
  };
  const Buffer from(bytes);
  Buffer to(bytes);
  const std::vector<double> seconds =
      context.Seconds({{[&](int) { std::memcpy(to.data(), from.data(), bytes); }},
                       {run_on(**copies)},
                       {run_on(**direct)},
                       {run_on(**queues)}});
  OPSERVE_RETURN_IF_ERROR(status);
  const std::optional<PciLink> link = context.Link();
  const bool has_link = link.has_value() && link->bytes_per_second > 0;
  const double bus = has_link ? static_cast<double>(bytes) / link->bytes_per_second : seconds[0];
  const std::string bus_name = has_link ? "PCIe link" : "memcpy";
  const auto add = [&](const char* name, double took) {
    result.rows.push_back(RateRow(name, bytes, bytes, took, bus, bus_name));
  };
  add("call by copies, each way", seconds[1]);
  add("call directly, each way", seconds[2]);
  add("call by copy queues, each way", seconds[3]);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureTransfers(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<DeviceMeter*> meter = context.Meter();
  if (!meter.ok()) return meter.status();
  result.notes.push_back(
      "Copies both ways: up in a copy queue, down in the compute queue. 0.5 of one alone means "
      "that "
      "they take turns. A kernel reads and writes the rings itself.");
  for (const uint64_t bytes : {kMiB, context.Sized(64, 8, 2) * kMiB}) {
    OPSERVE_RETURN_IF_ERROR(MeasureTransfersOf(context, **meter, bytes, result));
  }
  return MeasureWays(context, result);
}

}  // namespace opserve::bench
