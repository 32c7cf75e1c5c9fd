#include "server/pool/processor_runner.h"

#include <chrono>
#include <exception>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/errors/errors.h"
#include "server/errors/queue_errors.h"

namespace opserve {
namespace {

// A job that runs in the thread that submits it keeps that from its other work, so it must not take
// longer than receiving it did. Those of so few bytes never do.
constexpr Clock::Duration kLongestInline = std::chrono::microseconds(250);
constexpr uint64_t kFewBytes = uint64_t{16} << 10;

// Whether a run ended because its client gave the job up, or did not go on.
bool IsEndOfClient(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsAborted(status);
}

}  // namespace

ProcessorRunner::ProcessorRunner(const Parts& parts, uint64_t inline_bytes)
    : parts_(parts),
      slot_(parts.slots.processor()),
      inline_bytes_(inline_bytes),
      out_of_memory_(OutOfMemoryError()) {}

bool ProcessorRunner::TryRun(Job& job) {
  if (!IsShort(job.traits()) || !slot_.queue().TryBegin()) return false;
  Run(job);
  // Nobody wants to know when the processor is idle: it is neither leased nor set aside.
  slot_.queue().Done();
  return true;
}

bool ProcessorRunner::IsShort(const JobTraits& traits) const {
  if (traits.bytes > inline_bytes_ || traits.placement == Placement::kGpu) return false;
  if (traits.waits_for_inputs) return false;
  // Its inputs may be on that device, for which this thread must not wait.
  if (!traits.home.empty() || traits.results_may_wait) return false;
  // The queue refuses what is late.
  if (traits.deadline <= parts_.clock.Now()) return false;
  if (traits.bytes <= kFewBytes) return true;
  const Clock::Duration alone =
      slot_.KnownTimeOf(traits, traits.bytes).value_or(Clock::Duration::zero());
  // It will share the processor with those that run.
  return alone * (slot_.active_runs() + 1) <= kLongestInline;
}

void ProcessorRunner::Run(Job& job) {
  Job* held = &job;
  try {
    RunUnguarded(held);
  } catch (const std::exception& error) {
    parts_.logger.Log(LogLevel::kError, "batch failed",
                      {{"device", slot_.profile().name}, {"error", error.what()}});
    if (held != nullptr) held->Refuse(out_of_memory_);
  }
}

void ProcessorRunner::RunUnguarded(Job*& held) {
  absl::StatusOr<DeviceCall> call = held->Prepare(DeviceKind::kCpu);
  if (!call.ok()) return std::exchange(held, nullptr)->Refuse(call.status());
  // The processor keeps nothing.
  call->content = {};
  ++held->progress().attempts;
  const JobTraits& traits = held->traits();
  if (traits.sequence != nullptr) runs_sequences_ = true;
  Timing timing;
  const absl::Status status =
      IsMeasured(traits) ? RunMeasured(traits, *call, timing) : TimedRun(*call, timing);
  // While the job is held: where this throws, it is refused.
  if (IsEndOfClient(status)) held->Charge(timing.ran);
  Job& job = *std::exchange(held, nullptr);
  if (status.ok()) {
    Answer(job, timing);
  } else {
    RefuseFailed(job, status);
  }
}

bool ProcessorRunner::IsMeasured(const JobTraits& traits) const {
  // Where the processor is the only device, nothing is placed by what jobs of few bytes take, and
  // they run in any thread.
  return traits.bytes > kFewBytes || runs_sequences_ || parts_.slots.has_gpus();
}

absl::Status ProcessorRunner::RunMeasured(const JobTraits& traits, const DeviceCall& call,
                                          Timing& timing) {
  absl::Status status;
  Clock::Duration busy{};
  {
    const uint64_t run =
        slot_.BeginRun(slot_.KnownTimeOf(traits, traits.bytes).value_or(Clock::Duration::zero()));
    const absl::Cleanup end_run = [&] { busy = slot_.EndRun(run); };
    status = TimedRun(call, timing);
  }
  // How fast inputs come tells nothing of how long others take.
  if (status.ok() && call.arriving == nullptr) slot_.LearnTimeOf(traits, traits.bytes, busy);
  return status;
}

absl::Status ProcessorRunner::TimedRun(const DeviceCall& call, Timing& timing) {
  timing.start = parts_.clock.Now();
  absl::Status status = parts_.processor.Run({&call, 1});
  timing.ran = parts_.clock.Now() - timing.start;
  return status;
}

void ProcessorRunner::RefuseFailed(Job& job, const absl::Status& why) {
  if (absl::IsCancelled(why)) return job.Refuse(StoppedError());
  if (IsEndOfClient(why)) return job.Refuse(why);
  slot_.Count([](SlotCounters& counters) { ++counters.faults; });
  parts_.logger.Log(LogLevel::kWarn, "run failed",
                    {{"device", slot_.profile().name},
                     {"requests", 1},
                     {"error", absl::StatusCodeToString(why.code())},
                     {"reason", why.message()}});
  job.Refuse(why);
}

void ProcessorRunner::Answer(Job& job, const Timing& timing) {
  // Clients must be able to see themselves counted once they have their answers.
  slot_.Count([](SlotCounters& counters) {
    ++counters.batches[1];
    ++counters.requests;
  });
  RunRecord record;
  record.device = slot_.profile().name;
  record.kind = DeviceKind::kCpu;
  record.queued = timing.start - job.traits().accepted;
  record.ran = timing.ran;
  record.cost = timing.ran;
  record.attempts = job.progress().attempts;
  record.lease = job.traits().lease;
  job.Answer(record);
}

}  // namespace opserve
