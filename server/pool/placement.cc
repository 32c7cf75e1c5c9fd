#include "server/pool/placement.h"

#include <algorithm>
#include <chrono>

namespace opserve {
namespace {

constexpr size_t kCpuPosition = 0;

// A GPU must be better than the processor by this factor: estimates err, and an error must not make
// `auto` slower than the processor alone.
constexpr double kMargin = 1.25;

bool IsBetter(const Candidate& candidate, const Candidate& best) {
  if (candidate.is_leased != best.is_leased) return best.is_leased;
  if (candidate.estimate && best.estimate && Completion(candidate) != Completion(best)) {
    return Completion(candidate) < Completion(best);
  }
  return candidate.pending < best.pending;
}

bool IsClearlyLess(Clock::Duration less, Clock::Duration more) {
  return static_cast<double>(less.count()) * kMargin < static_cast<double>(more.count());
}

// How long the processor is busy with the job if it runs on the GPU.
Clock::Duration Carriage(const Candidate& gpu) { return std::min(gpu.carriage, *gpu.estimate); }

// A job that keeps the processor busy for as long on its way to a GPU and back as it would there
// relieves nobody, however many jobs the processor has: it would make all of them later.
bool BeatsProcessor(const Candidate& gpu, const Candidate& cpu) {
  if (!gpu.estimate || !cpu.estimate) return false;
  const Clock::Duration carriage = Carriage(gpu);
  // The processor has its part in what waits for the GPU, too: about what it has in this job.
  Clock::Duration on_processor = Completion(cpu);
  if (carriage > Clock::Duration::zero()) {
    const double part =
        static_cast<double>(carriage.count()) / static_cast<double>(gpu.estimate->count());
    on_processor += std::chrono::duration_cast<Clock::Duration>(gpu.backlog * part);
  }
  return IsClearlyLess(Completion(gpu), on_processor) && IsClearlyLess(carriage, *cpu.estimate);
}

// Whether `auto` may give the job to it at all.
bool SuitsAuto(const Candidate& candidate) {
  if (!candidate.estimate) return false;
  if (candidate.kind == DeviceKind::kCpu) return true;
  return candidate.can_run && !candidate.is_software && !candidate.is_leased;
}

// The best GPU, or the processor if there is none.
size_t BestGpu(std::span<const Candidate> candidates, bool for_auto) {
  size_t best = kCpuPosition;
  for (size_t i = kCpuPosition + 1; i < candidates.size(); ++i) {
    const Candidate& gpu = candidates[i];
    if (for_auto ? !SuitsAuto(gpu) : !gpu.can_run) continue;
    if (best == kCpuPosition || IsBetter(gpu, candidates[best])) best = i;
  }
  return best;
}

}  // namespace

Clock::Duration Completion(const Candidate& candidate) {
  return candidate.backlog + *candidate.estimate;
}

size_t Choose(std::span<const Candidate> candidates, Placement placement) {
  if (placement == Placement::kCpu) return kCpuPosition;
  const bool for_auto = placement == Placement::kAuto;
  const size_t best = BestGpu(candidates, for_auto);
  if (best == kCpuPosition || !for_auto) return best;
  return BeatsProcessor(candidates[best], candidates[kCpuPosition]) ? best : kCpuPosition;
}

std::optional<Probe> ProbeOf(std::span<const Candidate> candidates, size_t chosen, uint64_t turn) {
  if (!candidates[chosen].estimate) return std::nullopt;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const size_t position = (turn + i) % candidates.size();
    if (position == chosen || !SuitsAuto(candidates[position])) continue;
    const Candidate& other = candidates[position];
    const Clock::Duration best = Completion(candidates[chosen]);
    const auto least = std::chrono::duration_cast<Clock::Duration>(best * (kMargin - 1));
    return Probe{position, std::max({Completion(other) - best, least, Carriage(other)})};
  }
  return std::nullopt;
}

size_t GpuInTurn(std::span<const Candidate> candidates, uint64_t turn) {
  const auto is_usable = [](const Candidate& gpu) { return gpu.can_run && !gpu.is_leased; };
  const auto usable =
      static_cast<uint64_t>(std::count_if(candidates.begin() + 1, candidates.end(), is_usable));
  if (usable == 0) return kCpuPosition;
  uint64_t to_skip = turn % usable;
  size_t position = kCpuPosition + 1;
  while (!is_usable(candidates[position]) || to_skip-- > 0) ++position;
  return position;
}

}  // namespace opserve
