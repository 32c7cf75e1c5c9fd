// File: server/pool/processor_runner.h
//
// Runs the jobs of the processor, one by one: short ones in the thread that submits them, the
// others in its workers.

#ifndef OPSERVE_SERVER_POOL_PROCESSOR_RUNNER_H_
#define OPSERVE_SERVER_POOL_PROCESSOR_RUNNER_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/batch/job.h"
#include "server/device/compute_device.h"
#include "server/pool/device_slot.h"
#include "server/pool/slots.h"

namespace opserve {

// Thread-safe: several threads run jobs at a time.
class ProcessorRunner {
 public:
  // All must outlive the runner. `processor` is the device of the first of `slots`.
  struct Parts {
    const Clock& clock;
    Logger& logger;
    ComputeDevice& processor;
    const Slots& slots;
  };

  // `inline_bytes`: most bytes of a job that TryRun runs.
  ProcessorRunner(const Parts& parts, uint64_t inline_bytes);

  // Runs a new job, which is for the processor, in this thread. False, which leaves the job alone,
  // where it may take long, or others wait for the processor.
  bool TryRun(Job& job);

  // Answers or refuses a job that was taken from the processor's queue. Never throws what the
  // processor or the job throws: such a job is refused with OUT_OF_MEMORY.
  void Run(Job& job);

 private:
  // When a run began, and the time that it took.
  struct Timing {
    Clock::TimePoint start{};
    Clock::Duration ran{};
  };

  // Whether the job is short enough for a thread that has other work.
  bool IsShort(const JobTraits& traits) const;
  // Whether it decides anything how long the job takes.
  bool IsMeasured(const JobTraits& traits) const;
  // `held` becomes nullptr once the job is out of our hands.
  void RunUnguarded(Job*& held);
  absl::Status RunMeasured(const JobTraits& traits, const DeviceCall& call, Timing& timing);
  absl::Status TimedRun(const DeviceCall& call, Timing& timing);
  void RefuseFailed(Job& job, const absl::Status& why);
  void Answer(Job& job, const Timing& timing);

  const Parts parts_;
  DeviceSlot& slot_;
  const uint64_t inline_bytes_;
  // Whether there has been a sequence: what it takes is told by what calls take.
  std::atomic<bool> runs_sequences_ = false;
  // Made while there is memory.
  const absl::Status out_of_memory_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_PROCESSOR_RUNNER_H_
