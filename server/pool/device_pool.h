// File: server/pool/device_pool.h
//
// All devices of the server: places jobs, runs them, and sees to it that each is answered once and
// rightly, whatever its device does.

#ifndef OPSERVE_SERVER_POOL_DEVICE_POOL_H_
#define OPSERVE_SERVER_POOL_DEVICE_POOL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/batch/batch_policy.h"
#include "server/batch/job.h"
#include "server/device/compute_device.h"
#include "server/device/gpu_presence.h"
#include "server/pool/device_health.h"
#include "server/pool/slot_counters.h"

namespace opserve {

struct PoolOptions {
  // Batches of GPUs. The processor takes jobs one by one.
  BatchLimits batch;
  // Threads that run jobs on the processor, at least 1.
  int cpu_workers = 1;
  // Jobs for the processor with at most so many bytes of inputs and outputs run in the thread that
  // submits them while no job waits for the processor: for these, a change of threads costs more
  // than the work. 0: none.
  uint64_t inline_bytes = 0;
  // Share of the GPU results that is compared with the processor's, 0 to 1.
  double verify_rate = 0;
  HealthOptions health;
  // Bytes of the large calls by which hardware is measured before it joins: more than caches hold.
  uint64_t calibration_bytes = uint64_t{32} << 20;
};

// A device as it is now.
struct DeviceStatus {
  DeviceProfile profile;
  DeviceState state = DeviceState::kReady;
  // Why it is in a state other than kReady; empty otherwise.
  std::string reason;
  // Work.
  size_t pending = 0;
  uint64_t pending_bytes = 0;
  int in_flight = 0;
  // Whether neither jobs nor tests run on it.
  bool is_idle = true;
  // The number of the lease that it is reserved for; kNoLease: none.
  uint64_t lease = kNoLease;
  SlotCounters counters;
  // Of all devices that it was since the server started; copies of the present one.
  TransferCounters transfers;
};

// Outcome of a known-answer test of a device.
struct SelfTestResult {
  std::string device;
  int cases = 0;
  // OK, or the first thing that went wrong.
  absl::Status status;
  Clock::Duration took{};
};

// Thread-safe.
class DevicePool {
 public:
  // Serves with the processor at once. The GPUs that `find_gpus` finds (nullptr: there are none)
  // join by and by: StartMaintenance and Maintain say how. `clock` and `logger` must outlive the
  // pool.
  //
  // `on_change`, if given, is called after each change of a device's state, and whenever one that
  // is reserved or set aside has become idle, in whichever thread made it, several at a time
  // perhaps, with no lock held: also before the constructor returns, when there is no pool to call
  // yet, and until the destructor does. It may call gpu_ready and Status, but not Maintain.
  DevicePool(const PoolOptions& options, const Clock& clock, Logger& logger,
             std::shared_ptr<ComputeDevice> cpu, GpuFinder find_gpus,
             std::function<void()> on_change = nullptr);
  // Close, then waits until every accepted job is answered. Tests of devices that are joining are
  // cut short; a driver's search for GPUs, and its making of a device, are waited for.
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Accepts a job, which is then answered or refused in another thread, or in this one before
  // Submit returns. False after Close, which leaves the job alone.
  //
  // `before_queued` is called, in this thread, unless the job runs at once: until then nobody asks
  // who sent it. Where it throws, the job is refused.
  bool Submit(
      Job& job, absl::FunctionRef<void()> before_queued = [] {});

  // Refuses the job with REQUEST_CANCELLED if it still waits. Returns whether it did. One that runs
  // is refused where it would have to run again, and so is one that is submitted again.
  bool Cancel(Job& job);

  // Accepts no more jobs.
  void Close();

  // Starts a thread that calls Maintain whenever there is something to do. At most once.
  void StartMaintenance();

  // Whether the server has GPUs, in whatever state, or is still to look for them.
  bool has_gpus() const;
  GpuPresence gpu_presence() const;
  // Whether a GPU takes jobs now.
  bool gpu_ready() const;

  // What the device of that name is; nullptr: there is none. Lives as long as the pool; its feature
  // level is not known.
  const DeviceProfile* Find(absl::string_view name) const;

  // The processor first, then the GPUs in the order in which they were given.
  std::vector<DeviceStatus> Status() const;

  // The GPUs (by name) that have a kernel for the operator in this lane type, and the processor.
  std::vector<std::string> DevicesFor(OpId op, DataType lane) const;

  // Reserves the GPU called `device`, which must not be reserved, for the lease of this number:
  // only jobs of the lease are started there from now on. Others that wait go to other devices, or
  // wait there where they must: until the reservation ends, or another device can take them. What
  // runs there goes on: see DeviceStatus::is_idle.
  void Reserve(absl::string_view device, uint64_t lease);
  // Ends that. No effect where it is not reserved.
  void EndReservation(absl::string_view device);

  // Has the GPU called `device` take no jobs from now on, until ResumeDevice. What waits for it
  // goes elsewhere, what runs there goes on. `why` becomes the reason of its state.
  void SetDeviceAside(absl::string_view device, std::string why);
  void ResumeDevice(absl::string_view device);

  // Reads bytes of a content that the GPU called `device` keeps, as ComputeDevice::Read does,
  // beside its queue. UNAVAILABLE where the device is not to be trusted, or reserved for a lease
  // other than `lease`; nullopt: whoever has it leased. Waits for the device: do not call it from a
  // poller.
  absl::Status Read(absl::string_view device, std::optional<uint64_t> lease, ContentId content,
                    std::span<std::byte> to);

  // Releases a volatile content on all GPUs, as ComputeDevice::Release does. Never waits for a
  // device.
  void Release(ContentId content, bool is_of_use);

  // Computes a result again, on the processor, in this thread, that the GPU called `device` was
  // to have and does not.
  absl::Status Recompute(absl::string_view device, const DeviceCall& call);

  // Runs the known-answer test on the GPU called `device`, or on all (empty name), while they
  // serve; one that is leased is left alone, and its status is UNAVAILABLE. NOT_FOUND for an
  // unknown name; RESOURCE_EXHAUSTED while another test runs. Once `*stop`, unless that is nullptr,
  // it ends with CANCELLED after the run that is under way; what the devices did right or wrong
  // until then counts. Takes a second or so, and much longer on software GPUs: do not call it from
  // a poller.
  absl::StatusOr<std::vector<SelfTestResult>> SelfTest(absl::string_view device,
                                                       const std::atomic<bool>* stop = nullptr);

  // Looks for the GPUs if that has not been done; then makes, tests and calibrates the devices that
  // are new, and anew those whose back-off is over, all in this thread. One that cannot be made is
  // tried again later. Returns when to call it again; kNever: not before another device is lost.
  // Not while the pool's own thread does it, nor from two threads at a time.
  Clock::TimePoint Maintain();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_POOL_H_
