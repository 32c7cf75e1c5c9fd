// File: server/pool/router.h
//
// Brings jobs to the queues of devices.

#ifndef OPSERVE_SERVER_POOL_ROUTER_H_
#define OPSERVE_SERVER_POOL_ROUTER_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "server/batch/job.h"
#include "server/pool/device_slot.h"
#include "server/pool/probe_budget.h"
#include "server/pool/slots.h"

namespace opserve {

// Where a job is to go.
struct Choice {
  DeviceSlot& slot;
  // How often a device had become free when the choice began, as the router counts it.
  uint64_t freed = 0;
};

// Thread-safe. A job changes devices at most twice; its last stop is the processor.
class Router {
 public:
  // Both must outlive the router.
  Router(const Slots& slots, const Clock& clock);

  // The device that suits a new job best: that of its lease, or else its home, if it has one that
  // can run it, and may run elsewhere than on the processor.
  Choice Choose(const JobTraits& traits) { return ChooseExcept(traits, nullptr); }

  // Queues a new job there. False once the processor's queue is closed, which leaves the job alone.
  bool Place(Job& job, const Choice& chosen);

  // Queues a job in the caller's hands elsewhere, because `from` could not run it; refuses it where
  // all queues are closed. `held` becomes nullptr once the job is out of the caller's hands; if an
  // exception leaves the function before, it still is in them.
  void Move(Job*& held, DeviceSlot& from);
  // The same, on the processor.
  void MoveToProcessor(Job*& held, DeviceSlot& from);

  // Queues jobs that were taken out of a queue because it is reserved now: elsewhere, or there
  // again where they have to wait.
  void PlaceAnew(std::vector<Job*> jobs);

  // Queues jobs that wait for the ends of leases anew, because a device may have become free.
  void PlaceHeldAnew();

  // Moves all jobs that wait for `slot` elsewhere, because its device takes none any more.
  void Evacuate(DeviceSlot& slot);

  // Refuses with OUT_OF_MEMORY what is not nullptr.
  void RefuseAll(std::span<Job*> held);

  DeviceSlot& processor() { return slots_.processor(); }

 private:
  // Otherwise `auto` needs no look at the devices: it is the processor.
  bool has_hardware_gpu() const;
  // The device of the job's lease, or else that which its tensors are placed on, if it can run the
  // job; nullptr: none can.
  DeviceSlot* LeasedBy(const JobTraits& traits, const DeviceSlot* except);
  DeviceSlot* HomeOf(const JobTraits& traits, const DeviceSlot* except);
  Choice ChooseExcept(const JobTraits& traits, const DeviceSlot* except);
  DeviceSlot& SlotFor(const JobTraits& traits, const DeviceSlot* except);
  size_t ChooseOf(std::span<const Candidate> candidates, const JobTraits& traits);
  // Chooses for a job that may run anywhere.
  size_t ChooseForAuto(std::span<const Candidate> candidates, const JobTraits& traits);
  bool Enqueue(Job& job, DeviceSlot& chosen);
  // Queues jobs that wait for the ends of leases anew.
  void PlaceHeld() noexcept;

  const Slots& slots_;
  const Clock& clock_;
  // Times that jobs that wait for the ends of leases were looked for.
  std::atomic<uint64_t> freed_ = 0;
  // Jobs that asked for a GPU where there are several.
  std::atomic<uint64_t> gpu_placements_ = 0;
  ProbeBudget probe_budget_;
  std::atomic<uint64_t> probes_ = 0;
  // Made while there is memory.
  const absl::Status out_of_memory_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_ROUTER_H_
