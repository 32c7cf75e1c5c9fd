// File: server/d3d12/d3d12_device.h
//
// A Direct3D 12 adapter as a ComputeDevice. The header is free of Direct3D 12's own headers.

#ifndef OPSERVE_SERVER_D3D12_D3D12_DEVICE_H_
#define OPSERVE_SERVER_D3D12_D3D12_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/runtime/runtime.h"
#include "server/d3d12/transfer_way.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// Limits of one device.
struct DeviceOptions {
  // Name of the device instead of "d3d12/" with the adapter's name; for several on one adapter.
  std::string name = {};
  // Most bytes of the buffers in the device's memory: in use, kept for the next batch, or copies of
  // inputs and results that have a ContentId, which leave when a batch needs their room. Each
  // counts with what it takes of the device: whole units of 64 KiB; copies are parts of buffers of
  // 64 MiB. Less where the adapter has less to give (memory_budget.h). So much as when the device
  // was made may be mapped per direction for batches that are larger than the staging memory.
  uint64_t memory_budget = uint64_t{1} << 30;
  // Bytes of mapped memory per direction; multiples of 256. Holds two batches of the largest usual
  // size, of which one is uploaded while the other one runs.
  uint64_t staging_bytes = uint64_t{128} << 20;
  // How long a dispatch may be expected to take: what would take longer is made in pieces. Windows
  // resets a GPU that is at work on one command for two seconds; the rest is for estimates that are
  // wrong.
  std::chrono::nanoseconds longest_dispatch = std::chrono::milliseconds(50);
  // How long a submission may take before the device counts as hung, apart from the time for its
  // bytes or the kernels: see HangLimit.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
  // How bytes get to kernels and back. nullopt: as the first batch of several parts (batch_parts.h)
  // shows, which runs each way. That is one of the calibration, before the device serves.
  std::optional<TransferWay> transfers = std::nullopt;
  // Whether that goes for software adapters, too. Nobody calibrates them, so the batch would be a
  // client's: without it bytes are copied.
  bool measures_software = false;
  // How often the driver is asked what memory the adapter has to give.
  std::chrono::nanoseconds memory_interval = std::chrono::seconds(1);
  // Tells the time by which costs of kernels are learnt, and the driver is asked.
  std::function<std::chrono::steady_clock::time_point()> now = &std::chrono::steady_clock::now;
};

// Time that a device may take per byte of the buffers that it works on; far more than any kernel
// takes. On a software adapter with two processors the slowest one, a strided remainder of 8-bit
// integers in 8 dimensions, takes about 60 ns.
inline constexpr std::chrono::nanoseconds kTimePerByte{20};
inline constexpr std::chrono::nanoseconds kSoftwareTimePerByte{1000};

// What is submitted to a device and not waited for.
struct PendingWork {
  // The size of all buffers that it works on.
  uint64_t bytes = 0;
  // What its kernels are expected to take.
  std::chrono::nanoseconds expected{0};
};

// How long a device may be at work on `pending` until it counts as hung: for its bytes, or four
// times as long as it is expected to take where that is more. `fixed`: DeviceOptions::timeout.
std::chrono::nanoseconds HangLimit(std::chrono::nanoseconds fixed, bool is_software,
                                   const PendingWork& pending);

// Thread-safe: while a batch of one thread runs on the device, those of other threads are uploaded.
// A batch is one submission, with one dispatch where its calls are packed, else one per call, or
// several where they compute rows; see DeviceOptions::longest_dispatch. A large batch is several,
// of which the host fills and empties some while the device is at work on others. Of inputs and
// results that have a ContentId it keeps copies while there is memory, so that they need not be
// uploaded again. Results that may stay are not read back where there is memory for their copies.
// After the first batches of a kind, a batch allocates no device memory and makes no pipelines.
//
// A device that hangs or is lost refuses all further calls with UNAVAILABLE; make a new one.
class D3D12Device final : public ComputeDevice {
 public:
  // `adapter`: a position in runtime->adapters(). Fails where the driver cannot make a device of
  // feature level 11_0, or has no memory for `options`.
  static absl::StatusOr<std::unique_ptr<D3D12Device>> Create(std::shared_ptr<const Runtime> runtime,
                                                             int adapter,
                                                             const DeviceOptions& options = {});
  // Waits, within the time-out, for what is under way. What a lost device may still touch is freed
  // once its driver says that it does not: mostly at once, else by a thread of its own, and never
  // where the driver never says so.
  ~D3D12Device() override;
  D3D12Device(const D3D12Device&) = delete;
  D3D12Device& operator=(const D3D12Device&) = delete;

  const DeviceProfile& profile() const override;
  // Never waits. True where there are kernels for all layouts, and the driver has refused none yet:
  // pipelines are made at the first calls.
  bool Supports(OpId op, DataType lane) const override;
  absl::Status Run(std::span<const DeviceCall> calls) override;
  absl::Status Read(ContentId content, std::span<std::byte> to) override;
  void Release(ContentId content, bool is_of_use) override;
  TransferCounters transfers() const override;

  // OK, or why the device is lost.
  absl::Status status() const;
  // Bytes of buffers in the device's memory.
  uint64_t pooled_bytes() const;

 private:
  struct Impl;
  explicit D3D12Device(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_D3D12_DEVICE_H_
