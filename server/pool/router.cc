#include "server/pool/router.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "server/errors/errors.h"
#include "server/pool/placement.h"

namespace opserve {
namespace {

constexpr int kMostMoves = 2;

// Of so many jobs that ask for a GPU one goes to each in turn, whatever is expected of it. Costs
// are learnt from runs alone, so a GPU that was slow once would otherwise stay without work for
// ever.
constexpr uint64_t kProbeInterval = 32;

// A request that may run anywhere is only tried where it would be expected to be done in time if it
// took so many times as long.
constexpr int kProbeReserve = 4;

}  // namespace

Router::Router(const Slots& slots, const Clock& clock)
    : slots_(slots), clock_(clock), out_of_memory_(OutOfMemoryError()) {}

bool Router::has_hardware_gpu() const {
  const std::vector<DeviceSlot*>& slots = slots_.get();
  return std::any_of(slots.begin(), slots.end(), [](const DeviceSlot* slot) {
    return slot->is_gpu() && !slot->profile().is_software;
  });
}

size_t Router::ChooseOf(std::span<const Candidate> candidates, const JobTraits& traits) {
  if (traits.placement == Placement::kAuto) return ChooseForAuto(candidates, traits);
  if (candidates.size() > 2) {
    const uint64_t number = ++gpu_placements_;
    if (number % kProbeInterval == 0) {
      const size_t gpu = GpuInTurn(candidates, number / kProbeInterval);
      if (gpu != 0) return gpu;
    }
  }
  return opserve::Choose(candidates, Placement::kGpu);
}

size_t Router::ChooseForAuto(std::span<const Candidate> candidates, const JobTraits& traits) {
  const size_t best = opserve::Choose(candidates, Placement::kAuto);
  const std::optional<Probe> probe = ProbeOf(candidates, best, probes_);
  if (!probe) return best;
  // What it takes there may be far from what is expected, and no request is to be late by it.
  const Clock::Duration left = traits.deadline - traits.accepted;
  if (Completion(candidates[probe->position]) > left / kProbeReserve) return best;
  if (!probe_budget_.Spend(*candidates[best].estimate, probe->loss)) return best;
  ++probes_;
  return probe->position;
}

DeviceSlot* Router::LeasedBy(const JobTraits& traits, const DeviceSlot* except) {
  if (traits.lease == kNoLease) return nullptr;
  for (DeviceSlot* const slot : slots_.get()) {
    if (slot->queue().lease() != traits.lease) continue;
    return slot != except && slot->CanRun(traits) ? slot : nullptr;
  }
  return nullptr;
}

DeviceSlot* Router::HomeOf(const JobTraits& traits, const DeviceSlot* except) {
  if (traits.home.empty() || traits.placement == Placement::kCpu) return nullptr;
  for (DeviceSlot* const slot : slots_.get()) {
    if (slot->profile().name != traits.home) continue;
    return slot != except && slot->CanRun(traits) ? slot : nullptr;
  }
  return nullptr;
}

Choice Router::ChooseExcept(const JobTraits& traits, const DeviceSlot* except) {
  // Before the devices are looked at: one that becomes free meanwhile counts as later.
  const uint64_t freed = freed_;
  return {SlotFor(traits, except), freed};
}

DeviceSlot& Router::SlotFor(const JobTraits& traits, const DeviceSlot* except) {
  if (DeviceSlot* const leased = LeasedBy(traits, except)) return *leased;
  if (DeviceSlot* const home = HomeOf(traits, except)) return *home;
  size_t chosen = 0;
  const std::vector<DeviceSlot*>& slots = slots_.get();
  if (traits.placement == Placement::kGpu ||
      (traits.placement == Placement::kAuto && has_hardware_gpu())) {
    absl::InlinedVector<Candidate, 8> candidates;
    const Clock::TimePoint now = clock_.Now();
    const Clock::Duration carriage = processor().CarriageOf(traits.bytes);
    for (const DeviceSlot* const slot : slots) {
      Candidate& candidate = candidates.emplace_back(slot->CandidateFor(traits, now));
      if (slot->is_gpu()) candidate.carriage = carriage;
      // A job that has failed somewhere has waited enough.
      if (slot == except || (except != nullptr && candidate.is_leased)) candidate.can_run = false;
    }
    chosen = ChooseOf(candidates, traits);
  }
  return *slots[chosen];
}

bool Router::Place(Job& job, const Choice& chosen) {
  if (!Enqueue(job, chosen.slot)) return false;
  // A device that has become free since then may have looked for the job before it waited here.
  const bool may_wait = chosen.slot.queue().lease() != kNoLease;
  if (may_wait && freed_ != chosen.freed) PlaceHeld();
  return true;
}

bool Router::Enqueue(Job& job, DeviceSlot& chosen) {
  const JobTraits& traits = job.traits();
  // A lease may begin just now. Jobs that may run anywhere wait for none.
  const bool may_be_held = traits.placement != Placement::kAuto || !traits.home.empty();
  if (chosen.queue().Enqueue(job, may_be_held)) return true;
  // Queues of GPUs close before the processor's.
  return &chosen != &processor() && processor().queue().Enqueue(job);
}

void Router::Move(Job*& held, DeviceSlot& from) {
  if (held->progress().moves + 1 >= kMostMoves) {
    MoveToProcessor(held, from);
    return;
  }
  ++held->progress().moves;
  from.Count([](SlotCounters& counters) { ++counters.moved; });
  Job& job = *held;
  const bool is_placed = Place(job, ChooseExcept(job.traits(), &from));
  held = nullptr;
  if (!is_placed) job.Refuse(DrainingError());
}

void Router::MoveToProcessor(Job*& held, DeviceSlot& from) {
  ++held->progress().moves;
  from.Count([](SlotCounters& counters) { ++counters.moved; });
  Job& job = *held;
  const bool is_placed = processor().queue().Enqueue(job);
  held = nullptr;
  if (!is_placed) job.Refuse(DrainingError());
}

void Router::PlaceAnew(std::vector<Job*> jobs) {
  try {
    for (Job*& held : jobs) {
      Job& job = *held;
      const bool is_placed = Place(job, ChooseExcept(job.traits(), nullptr));
      held = nullptr;
      if (!is_placed) job.Refuse(DrainingError());
    }
  } catch (const std::exception&) {
    RefuseAll(jobs);
  }
}

void Router::PlaceHeldAnew() {
  ++freed_;
  PlaceHeld();
}

void Router::PlaceHeld() noexcept {
  for (DeviceSlot* const slot : slots_.get()) {
    std::vector<Job*> jobs;
    try {
      jobs = slot->queue().TakeHeld();
    } catch (const std::exception&) {
      // Where there is no memory for this, they wait for the end of their lease.
      continue;
    }
    PlaceAnew(std::move(jobs));
  }
}

void Router::Evacuate(DeviceSlot& slot) {
  std::vector<Job*> jobs;
  try {
    // Where there is no memory for this, the slot's threads move the jobs when they take them.
    jobs = slot.queue().Flush();
    for (Job*& job : jobs) Move(job, slot);
  } catch (const std::exception&) {
    RefuseAll(jobs);
  }
}

void Router::RefuseAll(std::span<Job*> held) {
  for (Job*& job : held) {
    if (job != nullptr) std::exchange(job, nullptr)->Refuse(out_of_memory_);
  }
}

}  // namespace opserve
