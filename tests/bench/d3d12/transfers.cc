// Section "transfers": up, down, and both at once; and a large call each way that there is.

#include <cstring>
#include <optional>
#include <utility>

#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/transfer_way.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/repeated_work.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

// Memory of both ends, for each direction, and a queue for those that go up.
struct TransferMemory {
  std::unique_ptr<d3d12::Queue> up_queue;
  d3d12::StagingRing::Lease up;
  d3d12::StagingRing::Lease down;
  d3d12::ComPtr<ID3D12Resource> to;
  d3d12::ComPtr<ID3D12Resource> from;
};

absl::Status MakeTransferMemory(DeviceMeter& meter, uint64_t bytes, TransferMemory& memory) {
  absl::StatusOr<std::unique_ptr<d3d12::Queue>> queue =
      d3d12::Queue::Create(meter.device(), D3D12_COMMAND_LIST_TYPE_COPY);
  if (!queue.ok()) return queue.status();
  memory.up_queue = *std::move(queue);
  absl::StatusOr<d3d12::StagingRing::Lease> lease = meter.upload().Acquire(bytes, kMeterTimeLimit);
  if (!lease.ok()) return lease.status();
  memory.up = *std::move(lease);
  lease = meter.readback().Acquire(bytes, kMeterTimeLimit);
  if (!lease.ok()) return lease.status();
  memory.down = *std::move(lease);
  OPSERVE_RETURN_IF_ERROR(meter.MakeBuffer(bytes, memory.to));
  return meter.MakeBuffer(bytes, memory.from);
}

// Copies up in one queue and down in another one, as often each.
RepeatedWork BothAtOnce(DeviceMeter& meter, TransferMemory& memory, const Recorder& up,
                        const Recorder& down) {
  return [&meter, &memory, up, down](int repeats) -> absl::StatusOr<double> {
    const auto recorded = [repeats](const Recorder& record) {
      return [repeats, &record](ID3D12GraphicsCommandList& list) {
        for (int i = 0; i < repeats; ++i) record(list);
      };
    };
    const auto start = std::chrono::steady_clock::now();
    const absl::StatusOr<d3d12::Serial> first =
        memory.up_queue->Submit(recorded(up), kMeterTimeLimit);
    if (!first.ok()) return first.status();
    const absl::StatusOr<d3d12::Serial> second =
        meter.queue().Submit(recorded(down), kMeterTimeLimit);
    if (!second.ok()) return second.status();
    OPSERVE_RETURN_IF_ERROR(memory.up_queue->timeline().Wait(*first, kMeterTimeLimit));
    OPSERVE_RETURN_IF_ERROR(meter.queue().timeline().Wait(*second, kMeterTimeLimit));
    return SecondsSince(start);
  };
}

// Seconds of memcpy: memory to memory, into the upload ring, out of the readback ring.
std::vector<double> HostSeconds(const BenchContext& context, TransferMemory& memory,
                                uint64_t bytes) {
  const Buffer from(bytes);
  Buffer to(bytes);
  return context.Seconds({{[&](int) { std::memcpy(to.data(), from.data(), bytes); }},
                          {[&](int) { std::memcpy(memory.up.data(), from.data(), bytes); }},
                          {[&](int) { std::memcpy(to.data(), memory.down.data(), bytes); }}});
}

absl::Status MeasureTransfersOf(BenchContext& context, DeviceMeter& meter, uint64_t bytes,
                                SectionResult& result) {
  TransferMemory memory;
  OPSERVE_RETURN_IF_ERROR(MakeTransferMemory(meter, bytes, memory));
  // First of all, so that the pages of the rings are in memory.
  const std::vector<double> host = HostSeconds(context, memory, bytes);
  const Recorder up = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(memory.to.Get(), 0, memory.up.buffer(), memory.up.offset(), bytes);
  };
  const Recorder down = [&](ID3D12GraphicsCommandList& list) {
    list.CopyBufferRegion(memory.down.buffer(), memory.down.offset(), memory.from.Get(), 0, bytes);
  };
  const absl::StatusOr<std::vector<double>> device =
      MeasureRepeated({WorkOf(meter, up), WorkOf(meter, down), BothAtOnce(meter, memory, up, down)},
                      3 * context.options().seconds);
  if (!device.ok()) return device.status();
  const double size = static_cast<double>(bytes);
  // It was at work a moment ago, so its speed is that of transfers.
  const std::optional<PciLink> link = context.Link();
  const bool has_link = link.has_value() && link->bytes_per_second > 0;
  const double bus = has_link ? size / link->bytes_per_second : host[0];
  const std::string bus_name = has_link ? "PCIe link" : "memcpy";
  const auto add = [&](const char* name, double seconds, double ceiling, std::string against) {
    result.rows.push_back(RateRow(name, bytes, bytes, seconds, ceiling, std::move(against)));
  };
  add("memcpy into the ring", host[1], host[0], "memcpy");
  add("up", (*device)[0], bus, bus_name);
  add("down", (*device)[1], bus, bus_name);
  // Alone, the slower direction bounds both.
  add("both at once, each way", (*device)[2], std::max((*device)[0], (*device)[1]), "alone");
  if (has_link) {
    add("both at once, each way", (*device)[2], bus, bus_name);
    result.rows.back().goal = {Goal::Kind::kAtLeast, 0.8};
  }
  add("memcpy out of the ring", host[2], host[0], "memcpy");
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
      "Both at once: up in a copy queue, down in the compute queue. 0.5 of one alone means that "
      "they take turns.");
  for (const uint64_t bytes : {kMiB, context.Sized(64, 8, 2) * kMiB}) {
    OPSERVE_RETURN_IF_ERROR(MeasureTransfersOf(context, **meter, bytes, result));
  }
  return MeasureWays(context, result);
}

}  // namespace opserve::bench
