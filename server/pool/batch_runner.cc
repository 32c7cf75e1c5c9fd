#include "server/pool/batch_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"
#include "server/errors/queue_errors.h"

namespace opserve {
namespace {

// Brings the inputs of a call to the host's memory. TENSOR_LOST where one is nowhere any more.
absl::Status FetchInputs(DeviceCall& call) {
  try {
    if (call.sequence != nullptr) {
      for (const TensorBytes& input : call.sequence->inputs) input.Fetched();
    }
    for (TensorBytes& input : call.inputs) input = input.Fetched();
    return absl::OkStatus();
  } catch (const ContentLost& lost) {
    return TensorLostError(lost.what());
  }
}

// The processor, which is the last one to ask for an input that is lost, tells whose that is.
absl::Status RunOn(ComputeDevice& device, std::span<const DeviceCall> calls) {
  try {
    return device.Run(calls);
  } catch (const ContentLost& lost) {
    return absl::UnimplementedError(absl::StrCat("An input was on ", lost.what(), " alone."));
  }
}

}  // namespace

void BatchRunner::Run(Batch batch) {
  try {
    RunUnguarded(batch);
  } catch (const std::exception& error) {
    parts_.logger.Log(LogLevel::kError, "batch failed",
                      {{"device", slot_.profile().name}, {"error", error.what()}});
    parts_.router.RefuseAll(batch);
  }
}

void BatchRunner::RunUnguarded(Batch& batch) {
  const std::shared_ptr<ComputeDevice> device = slot_.serving();
  if (device == nullptr) {
    for (Job*& job : batch) parts_.router.Move(job, slot_);
    return;
  }
  std::vector<Entry> entries = Prepare(batch);
  if (entries.empty() || !TestBeforeUse(*device, entries)) return;
  ChooseSamples(entries);
  if (entries.empty()) return;
  Attempt(*device, entries, /*may_split=*/true);
}

bool BatchRunner::TestBeforeUse(ComputeDevice& device, std::span<Entry> entries) {
  const std::vector<KernelLane> lanes = LanesOf((*entries.front().held)->traits());
  if (slot_.Untested(device, lanes).empty()) return true;
  const SelfTestOutcome outcome = TestUntested(device, lanes);
  if (absl::IsAborted(outcome.status)) {
    MoveEach(entries);
  } else if (absl::IsDataLoss(outcome.status)) {
    const std::string why = absl::StrCat("self-test: ", outcome.status.message());
    if (slot_.OnSelfTestFailed(device, *outcome.failed, why)) parts_.router.Evacuate(slot_);
    MoveEach(entries);
  } else if (!outcome.status.ok()) {
    OnRunFailed(device, entries, outcome.status, /*may_split=*/false);
  } else if (!outcome.refused.empty()) {
    MoveEachToProcessor(entries);
  } else {
    return true;
  }
  return false;
}

void BatchRunner::BeginTest() {
  MutexLock lock(mutex_);
  while (is_testing_) test_ended_.Wait(mutex_);
  is_testing_ = true;
}

void BatchRunner::EndTest() {
  MutexLock lock(mutex_);
  is_testing_ = false;
  test_ended_.NotifyOne();
}

// ABORTED where the device has stopped serving before its turn.
SelfTestOutcome BatchRunner::TestUntested(ComputeDevice& device,
                                          std::span<const KernelLane> lanes) {
  BeginTest();
  const absl::Cleanup end_test = [this] { EndTest(); };
  if (!slot_.Serves(device)) {
    return {.status = absl::AbortedError("The device does not serve any more.")};
  }
  // A device that hangs in a test is as busy as one that hangs in a run.
  const uint64_t run = slot_.BeginRun(Clock::Duration::zero());
  const absl::Cleanup end_run = [this, run] { slot_.EndRun(run); };
  const Clock::TimePoint start = parts_.clock.Now();
  // Another thread may have tested some meanwhile.
  SelfTestOutcome outcome = TestLanes(device, slot_.Untested(device, lanes));
  slot_.OnTested(device, outcome.passed);
  for (const KernelLane& lane : outcome.refused) slot_.OnRefused(device, lane);
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(parts_.clock.Now() - start);
  parts_.logger.Log(LogLevel::kDebug, "kernels tested before their first use",
                    {{"device", slot_.profile().name},
                     {"operator", TraitsOf(lanes.front().op).name},
                     {"type", NameOf(lanes.front().type)},
                     {"cases", outcome.cases},
                     {"took_ms", took.count()}});
  return outcome;
}

std::vector<BatchRunner::Entry> BatchRunner::Prepare(Batch& batch) {
  std::vector<Entry> entries;
  entries.reserve(batch.size());
  for (Job*& job : batch) {
    absl::StatusOr<DeviceCall> call = job->Prepare(DeviceKind::kGpu);
    if (call.ok()) {
      entries.push_back({.held = &job, .call = *call});
    } else {
      std::exchange(job, nullptr)->Refuse(call.status());
    }
  }
  return entries;
}

void BatchRunner::ChooseSamples(std::vector<Entry>& entries) {
  for (Entry& entry : entries) {
    const JobTraits& traits = (*entry.held)->traits();
    // Samples would spoil what a lease is for: that runs take the same time.
    const bool is_sampled = traits.lease == kNoLease && parts_.sampler.Next();
    entry.is_chosen = traits.verify || is_sampled;
    // Whatever another device did before.
    entry.ClearStays();
    if (!entry.is_chosen) continue;
    entry.call.hands_over = true;
    const absl::Status status = FetchInputs(entry.call);
    if (!status.ok()) std::exchange(*entry.held, nullptr)->Refuse(status);
  }
  std::erase_if(entries, [](const Entry& entry) { return *entry.held == nullptr; });
}

void BatchRunner::Attempt(ComputeDevice& device, std::span<Entry> entries, bool may_split) {
  // All are of its lane.
  const JobTraits& first = (*entries.front().held)->traits();
  uint64_t bytes = 0;
  bool is_typical = true;
  std::vector<DeviceCall> calls;
  calls.reserve(entries.size());
  for (const Entry& entry : entries) {
    calls.push_back(entry.call);
    const JobTraits& traits = (*entry.held)->traits();
    bytes += traits.bytes;
    // The device may have its inputs already, which others have to upload.
    if (!traits.home.empty()) is_typical = false;
    ++(*entry.held)->progress().attempts;
  }
  const Clock::Duration expected =
      slot_.KnownTimeOf(first, bytes).value_or(Clock::Duration::zero());
  Timing timing;
  const absl::Status status = TimedRun(device, calls, expected, timing);
  if (!status.ok()) {
    // Of what fails otherwise, the run that succeeds in the end is charged.
    if (absl::IsCancelled(status)) ChargeEach(entries, timing);
    OnRunFailed(device, entries, status, may_split);
    return;
  }
  if (is_typical) slot_.LearnTimeOf(first, bytes, timing.busy);
  slot_.Count([&](SlotCounters& counters) { ++counters.batches[entries.size()]; });
  slot_.OnSuccess(device);
  Verify(device, entries);
  AnswerEach(entries, timing);
}

absl::Status BatchRunner::TimedRun(ComputeDevice& device, std::span<const DeviceCall> calls,
                                   Clock::Duration expected, Timing& timing) {
  const uint64_t run = slot_.BeginRun(expected);
  const absl::Cleanup end_run = [this, run] { slot_.EndRun(run); };
  timing.start = parts_.clock.Now();
  absl::Status status = RunOn(device, calls);
  const Clock::TimePoint end = parts_.clock.Now();
  timing.ran = end - timing.start;
  timing.busy = busy_time_.Note(timing.start, end);
  return status;
}

void BatchRunner::OnRunFailed(ComputeDevice& device, std::span<Entry> entries,
                              const absl::Status& why, bool may_split) {
  if (absl::IsCancelled(why)) return RefuseEach(entries, StoppedError());
  // No fault of the device: it has no kernel, or one that does not decide every element.
  const bool is_unsupported = absl::IsUnimplemented(why) || absl::IsOutOfRange(why);
  if (!is_unsupported) slot_.Count([](SlotCounters& counters) { ++counters.faults; });
  parts_.logger.Log(is_unsupported ? LogLevel::kDebug : LogLevel::kWarn, "run failed",
                    {{"device", slot_.profile().name},
                     {"requests", entries.size()},
                     {"error", absl::StatusCodeToString(why.code())},
                     {"reason", why.message()}});
  const bool is_full = why.code() == absl::StatusCode::kResourceExhausted;
  if (is_full && entries.size() > 1 && may_split) {
    RunHalves(device, entries);
  } else if (is_full || is_unsupported) {
    MoveEachToProcessor(entries);
  } else {
    // Before any job is answered: jobs that come later may be meant for the next device.
    if (slot_.OnFailure(device, why)) parts_.router.Evacuate(slot_);
    MoveEach(entries);
  }
}

void BatchRunner::RunHalves(ComputeDevice& device, std::span<Entry> entries) {
  const size_t half = entries.size() / 2;
  Attempt(device, entries.first(half), /*may_split=*/false);
  // The device may have been lost by the first half.
  if (slot_.Serves(device)) {
    Attempt(device, entries.subspan(half), /*may_split=*/false);
  } else {
    MoveEach(entries.subspan(half));
  }
}

void BatchRunner::RefuseEach(std::span<Entry> entries, const absl::Status& why) {
  for (Entry& entry : entries) std::exchange(*entry.held, nullptr)->Refuse(why);
}

void BatchRunner::MoveEach(std::span<Entry> entries) {
  for (Entry& entry : entries) parts_.router.Move(*entry.held, slot_);
}

void BatchRunner::MoveEachToProcessor(std::span<Entry> entries) {
  for (Entry& entry : entries) parts_.router.MoveToProcessor(*entry.held, slot_);
}

// Each job counts a little by itself, so that one without bytes has its part, too.
double BatchRunner::WeightOf(const Job& job) { return static_cast<double>(job.traits().bytes) + 1; }

double BatchRunner::WeightsOf(std::span<const Entry> entries) {
  double weights = 0;
  for (const Entry& entry : entries) weights += WeightOf(**entry.held);
  return weights;
}

Clock::Duration BatchRunner::CostOf(const Job& job, double weights, const Timing& timing) {
  return std::chrono::duration_cast<Clock::Duration>(timing.busy * (WeightOf(job) / weights));
}

void BatchRunner::ChargeEach(std::span<const Entry> entries, const Timing& timing) {
  const double weights = WeightsOf(entries);
  for (const Entry& entry : entries) {
    Job& job = **entry.held;
    job.Charge(CostOf(job, weights, timing));
  }
}

void BatchRunner::AnswerEach(std::span<Entry> entries, const Timing& timing) {
  // Clients must be able to see themselves counted once they have their answers.
  size_t replaced = 0;
  for (const Entry& entry : entries) replaced += entry.is_replaced ? 1 : 0;
  slot_.Count([&](SlotCounters& counters) { counters.requests += entries.size() - replaced; });
  DeviceSlot& processor = parts_.router.processor();
  if (replaced > 0) {
    processor.Count([&](SlotCounters& counters) { counters.requests += replaced; });
  }
  const double weights = WeightsOf(entries);
  for (Entry& entry : entries) {
    Job* job = std::exchange(*entry.held, nullptr);
    if (!entry.lost.ok()) {
      job->Refuse(entry.lost);
      continue;
    }
    RunRecord record;
    const DeviceProfile& profile = (entry.is_replaced ? processor : slot_).profile();
    record.device = profile.name;
    record.kind = profile.kind;
    record.queued = timing.start - job->traits().accepted;
    record.ran = timing.ran;
    record.cost = CostOf(*job, weights, timing);
    record.batch_size = entries.size();
    record.attempts = job->progress().attempts;
    record.is_verified = entry.is_verified;
    record.lease = job->traits().lease;
    job->Answer(record);
  }
}

void BatchRunner::Verify(const ComputeDevice& device, std::span<Entry> entries) {
  // Another batch may have shown meanwhile that the device is not to be trusted.
  bool is_in_doubt = !slot_.Serves(device);
  uint64_t verified = 0;
  uint64_t wrong = 0;
  bool is_down = false;
  const auto verify = [&](Entry& entry) {
    ++verified;
    const std::optional<Mismatch> mismatch = VerifyOne(entry);
    if (!mismatch) return;
    ++wrong;
    is_in_doubt = true;
    LogMismatch(*mismatch);
    const std::string why = absl::StrCat("wrong result: ", mismatch->difference.ToString());
    if (slot_.OnMismatch(device, why)) is_down = true;
  };
  for (Entry& entry : entries) {
    if (entry.is_chosen) verify(entry);
  }
  for (Entry& entry : entries) {
    if (!is_in_doubt || entry.is_verified) continue;
    try {
      if (entry.stays()) {
        ReplaceOne(entry);
      } else {
        verify(entry);
      }
    } catch (const ContentLost& lost) {
      entry.lost = TensorLostError(lost.what());
    }
  }
  if (verified > 0) {
    slot_.Count([&](SlotCounters& counters) {
      counters.verified += verified;
      counters.mismatches += wrong;
    });
  }
  if (is_down) parts_.router.Evacuate(slot_);
}

std::optional<Mismatch> BatchRunner::VerifyOne(Entry& entry) {
  Recomputation recomputed(entry.call);
  if (!recomputed.Run(parts_.processor).ok()) return std::nullopt;
  entry.is_verified = true;
  const std::optional<Mismatch> mismatch = recomputed.Repair();
  entry.is_replaced = mismatch.has_value();
  return mismatch;
}

void BatchRunner::ReplaceOne(Entry& entry) {
  DeviceCall call = entry.call;
  call.content = {};
  SequenceCall sequence;
  if (call.sequence != nullptr) {
    sequence = *call.sequence;
    // Its results may go to tensors that others read, even where the client does not wait any more.
    sequence.stop = nullptr;
    call.sequence = &sequence;
  }
  // The processor fails only where a sequence is stopped.
  if (!parts_.processor.Run({&call, 1}).ok()) return;
  entry.ClearStays();
  entry.is_replaced = true;
}

void BatchRunner::LogMismatch(const Mismatch& mismatch) {
  const DeviceProfile& profile = slot_.profile();
  const Difference& difference = mismatch.difference;
  parts_.logger.Log(LogLevel::kError, "wrong result",
                    {{"operator", TraitsOf(mismatch.call->op).name},
                     {"type", NameOf(mismatch.call->lane_type)},
                     {"device", profile.name},
                     {"driver", profile.driver},
                     {"element", difference.element},
                     {"expected", absl::StrCat("0x", absl::Hex(difference.expected))},
                     {"actual", absl::StrCat("0x", absl::Hex(difference.actual))}});
}

}  // namespace opserve
