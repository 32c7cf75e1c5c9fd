// File: server/pool/device_slot.h
//
// The place of one device in the pool: the device of now, its state, its queue, its costs, and what
// it did. Devices come and go, the slot stays.

#ifndef OPSERVE_SERVER_POOL_DEVICE_SLOT_H_
#define OPSERVE_SERVER_POOL_DEVICE_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/batch/batch_queue.h"
#include "server/device/compute_device.h"
#include "server/pool/active_runs.h"
#include "server/pool/cost_model.h"
#include "server/pool/device_health.h"
#include "server/pool/kernel_support.h"
#include "server/pool/placement.h"
#include "server/pool/slot_counters.h"
#include "server/pool/verify/kernel_lane.h"

namespace opserve {

// Thread-safe. Events name the device that they come from; those of a device that has been replaced
// meanwhile do not count. Changes of state are logged.
class DeviceSlot {
 public:
  // What all slots of a pool share; must outlive them.
  struct Shared {
    const Clock& clock;
    Logger& logger;
    // Called after the state of a device changed, with no lock of the slot held.
    std::function<void(const DeviceHealth&)> on_change;
  };

  // `limits.max_in_flight` threads are to run the batches. The slot starts without a device.
  DeviceSlot(DeviceSource source, const BatchLimits& limits, const HealthOptions& health,
             const Shared& shared);
  DeviceSlot(const DeviceSlot&) = delete;
  DeviceSlot& operator=(const DeviceSlot&) = delete;

  const DeviceProfile& profile() const { return source_.profile; }
  // The same, with the feature level, which only a device that was made tells.
  DeviceProfile full_profile() const;
  bool is_gpu() const { return source_.profile.kind == DeviceKind::kGpu; }
  BatchQueue& queue() { return queue_; }
  const BatchQueue& queue() const { return queue_; }
  CostModel& costs() { return costs_; }

  // Sets the device aside: it takes no jobs from now on, whichever device it is. Where it is
  // already, `why` replaces the reason. The caller evacuates the queue.
  void SetAside(std::string why);
  // Ends that. No effect where it is not set aside.
  void Resume();

  // The device, kept alive by the pointer; nullptr while it takes no jobs.
  std::shared_ptr<ComputeDevice> serving() const;
  // The device, if it is to be trusted, though it may be set aside; else nullptr.
  std::shared_ptr<ComputeDevice> trusted() const;
  // Releases a volatile content on the device, whatever its state.
  void Release(ContentId content, bool is_of_use) const;
  // Whether `device` is the present one and to be trusted with jobs, though it may be set aside.
  bool Serves(const ComputeDevice& device) const;
  // Whether the device has a kernel; as the last device told.
  bool Supports(OpId op, DataType lane) const;
  // How long the job is expected to keep the device busy; a lane that has not run takes as long as
  // others do. nullopt if nothing is known.
  std::optional<Clock::Duration> EstimateOf(const JobTraits& job) const;
  // The same of a run of jobs like this one, of `bytes` bytes together; nullopt if its lane has
  // never run.
  std::optional<Clock::Duration> KnownTimeOf(const JobTraits& job, uint64_t bytes) const;
  // Such a run kept the device busy for `busy`.
  void LearnTimeOf(const JobTraits& job, uint64_t bytes, Clock::Duration busy);
  // How long the processor, whose slot this is, is expected to be busy with bringing so many bytes
  // to a GPU or back; 0 if nothing is known.
  Clock::Duration CarriageOf(uint64_t bytes) const;
  // Whether it takes jobs, and has kernels for all of this one. No GPU has for a ScaleBias, nor for
  // sequences that show the bits of computed NaNs, in which devices differ.
  bool CanRun(const JobTraits& job) const;
  // What placing a job needs to know.
  Candidate CandidateFor(const JobTraits& job, Clock::TimePoint now) const;

  // Keeps account of what the device works on. `expected`: how long the run is expected to keep it
  // busy. Returns what EndRun takes, which returns how long it did if all runs shared the device.
  uint64_t BeginRun(Clock::Duration expected);
  Clock::Duration EndRun(uint64_t run);
  // Runs that it works on now.
  int active_runs() const;

  // A run on `device` succeeded.
  void OnSuccess(const ComputeDevice& device);
  // A run failed; UNAVAILABLE means that the device is lost. True if the device stops taking jobs
  // by this: its queue is then to be evacuated.
  bool OnFailure(const ComputeDevice& device, const absl::Status& why);
  // A result was wrong. True as above.
  bool OnMismatch(const ComputeDevice& device, absl::string_view why);
  // The known-answer test of a lane failed while the device served. True as above.
  bool OnSelfTestFailed(const ComputeDevice& device, const KernelLane& lane, absl::string_view why);

  // Of `lanes` those whose kernels have not passed their test on `device`, the present one.
  std::vector<KernelLane> Untested(const ComputeDevice& device,
                                   std::span<const KernelLane> lanes) const;
  // They have now.
  void OnTested(const ComputeDevice& device, std::span<const KernelLane> lanes);
  // Its driver refuses the kernels of a lane.
  void OnRefused(const ComputeDevice& device, const KernelLane& lane);
  // What a new device has to pass before it serves: what stands for all, and what one before it got
  // wrong. Everything else is tested before its first use.
  std::vector<KernelLane> LanesToTest(const ComputeDevice& device) const;

  // When the device is to be made; kNever: not now.
  Clock::TimePoint next_attempt() const;
  // Making it, by one thread at a time: drops the old device, and makes one.
  absl::StatusOr<std::unique_ptr<ComputeDevice>> Create();
  // `tested` of it is, and it takes jobs from now on.
  void Install(std::shared_ptr<ComputeDevice> device, std::span<const KernelLane> tested);
  // It could not be made.
  void OnCreateFailed(const absl::Status& why);
  // It was made, but failed the known-answer test of a lane.
  void OnNewDeviceWrong(const KernelLane& lane, absl::string_view why);

  // Changes the counters.
  void Count(absl::FunctionRef<void(SlotCounters&)> change) { counters_.Change(change); }
  SlotCounters counters() const { return counters_.Get(); }
  // What all its devices had counted at the last NoteTransfers.
  TransferCounters transfers() const;
  // Takes note of what the device has counted, if it is the present one.
  void NoteTransfers(const ComputeDevice& device);
  // Regardless of whether it is set aside.
  DeviceHealth health() const;
  DeviceState state() const;
  // Why it is in that state; empty where it is ready.
  std::string state_reason() const;

 private:
  // Tells `health_` something, unless `device` is given and not the present one; logs a change.
  // Returns whether the device has stopped taking jobs.
  bool Tell(const ComputeDevice* device,
            absl::FunctionRef<void(DeviceHealth&, Clock::TimePoint)> event);
  bool takes_jobs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return health_.takes_jobs() && !set_aside_;
  }
  bool CanRunLocked(const JobTraits& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogState(const DeviceHealth& health, Clock::TimePoint now);

  const DeviceSource source_;
  const BatchLimits limits_;
  const Shared& shared_;
  BatchQueue queue_;
  CostModel costs_;

  mutable Mutex mutex_;
  DeviceHealth health_ ABSL_GUARDED_BY(mutex_);
  // Why it is set aside; absent where it is not.
  std::optional<std::string> set_aside_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ComputeDevice> device_ ABSL_GUARDED_BY(mutex_);
  KernelSupport supported_ ABSL_GUARDED_BY(mutex_);
  // What of the present device has passed its test.
  absl::flat_hash_set<KernelLane> tested_ ABSL_GUARDED_BY(mutex_);
  // What failed it, on any device.
  absl::flat_hash_set<KernelLane> once_wrong_ ABSL_GUARDED_BY(mutex_);
  std::string feature_level_ ABSL_GUARDED_BY(mutex_);
  ActiveRuns active_ ABSL_GUARDED_BY(mutex_);
  // What the present device has counted, and those before it.
  TransferCounters transfers_ ABSL_GUARDED_BY(mutex_);
  TransferCounters past_transfers_ ABSL_GUARDED_BY(mutex_);

  SharedCounters counters_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_SLOT_H_
