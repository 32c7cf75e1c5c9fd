// File: server/pool/placement.h
//
// On which device a job is to run: a pure function of what is known of the devices.

#ifndef OPSERVE_SERVER_POOL_PLACEMENT_H_
#define OPSERVE_SERVER_POOL_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "server/base/clock.h"
#include "server/batch/job.h"
#include "server/device/compute_device.h"

namespace opserve {

// What placing a job needs to know of a device.
struct Candidate {
  DeviceKind kind = DeviceKind::kGpu;
  // A GPU whose work is done by the processor.
  bool is_software = false;
  // Whether it takes jobs and has a kernel for this one.
  bool can_run = false;
  // Whether a lease has it that the job is not under: the job would wait for the end of that.
  bool is_leased = false;
  // Expected time until all it has to do now is done.
  Clock::Duration backlog{};
  // Jobs that wait for it.
  size_t pending = 0;
  // How long this job is expected to keep the device busy; nullopt if it has never run its lane.
  std::optional<Clock::Duration> estimate;
  // How long it keeps the processor busy if it runs on this GPU, because its bytes have to be
  // copied to where the GPU reads them, and its result from where it was written.
  Clock::Duration carriage{};
};

// Picks a position in `candidates`, whose first is the processor.
//   kCpu   the processor
//   kGpu   of the GPUs that can run it the one that is expected to finish it first; where that is
//          not known of one of two, the one with fewer jobs waiting. Leased ones only where there
//          are no others. The processor if none can
//   kAuto  the same among hardware GPUs that are not leased, if it is expected to finish clearly
//          before the processor, and to keep the processor busy for clearly less time than the job
//          itself would; otherwise, and where either expectation is missing, the processor
size_t Choose(std::span<const Candidate> candidates, Placement placement);

// Where a job may go to see how long it takes there.
struct Probe {
  size_t position = 0;
  // How much later than where it was to go it is expected to be done, or how much longer others
  // are held up by it.
  Clock::Duration loss{};
};

// Of the devices that `auto` may use, but for `chosen`, the one whose turn it is as `turn` counts
// up; nullopt if there is no other. Expectations err: even where it is expected to be done earlier
// there, it loses as much as a GPU must be better by, and what it keeps the processor from. Pure.
std::optional<Probe> ProbeOf(std::span<const Candidate> candidates, size_t chosen, uint64_t turn);

// When the job is expected to be done on `candidate`, from now; it must have an estimate.
Clock::Duration Completion(const Candidate& candidate);

// The GPU whose turn it is, of those that can run the job and are not leased, as `turn` counts up.
// The processor if there is none.
size_t GpuInTurn(std::span<const Candidate> candidates, uint64_t turn);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_PLACEMENT_H_
