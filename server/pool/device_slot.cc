#include "server/pool/device_slot.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace opserve {
namespace {

uint64_t CeilDivide(uint64_t value, uint64_t by) { return value / by + (value % by != 0 ? 1 : 0); }

// Batches that `load` is going to make, at least.
size_t ExpectedRuns(const BatchQueue::Load& load, const BatchLimits& limits) {
  const uint64_t by_requests = CeilDivide(load.pending, std::max<size_t>(limits.max_requests, 1));
  const uint64_t by_bytes = CeilDivide(load.pending_bytes, std::max<uint64_t>(limits.max_bytes, 1));
  return static_cast<size_t>(std::max(by_requests, by_bytes));
}

bool SupportsAll(const KernelSupport& supported, bool is_gpu, const JobTraits& job) {
  // GPUs compute nothing before and after the operator itself. `call`: a lane or an invocation.
  const auto supports = [&](const auto& call) {
    return supported.Has(call.op, call.lane_type) &&
           !(is_gpu && (call.scale_bias || call.fused_activation));
  };
  if (job.sequence == nullptr) return supports(job.lane);
  if (is_gpu && job.sequence->shows_nan_bits) return false;
  const auto& steps = job.sequence->steps;
  return std::all_of(steps.begin(), steps.end(),
                     [&supports](const SequenceStep& step) { return supports(*step.call); });
}

// What `now` tells of the present, and what both have counted.
TransferCounters Sum(const TransferCounters& past, const TransferCounters& now) {
  TransferCounters sum = now;
#define OPSERVE_TRANSFER_COUNTER(NAME) sum.NAME += past.NAME;
#include "proto/opserve/device_counters.def"
  return sum;
}

}  // namespace

DeviceSlot::DeviceSlot(DeviceSource source, const BatchLimits& limits, const HealthOptions& health,
                       const Shared& shared)
    : source_(std::move(source)),
      limits_(limits),
      shared_(shared),
      queue_(shared.clock, limits),
      health_(health) {}

DeviceProfile DeviceSlot::full_profile() const {
  DeviceProfile profile = source_.profile;
  MutexLock lock(mutex_);
  profile.feature_level = feature_level_;
  return profile;
}

void DeviceSlot::SetAside(std::string why) {
  const std::string reason = why;
  {
    MutexLock lock(mutex_);
    set_aside_ = std::move(why);
  }
  queue_.Watch(true);
  shared_.logger.Log(LogLevel::kWarn, "device set aside",
                     {{"device", profile().name}, {"reason", reason}});
  if (shared_.on_change) shared_.on_change(health());
}

void DeviceSlot::Resume() {
  // First, so that whoever sets it aside again meanwhile has it watched after that.
  queue_.Watch(false);
  {
    MutexLock lock(mutex_);
    if (!set_aside_) return;
    set_aside_.reset();
  }
  shared_.logger.Log(LogLevel::kInfo, "device resumed", {{"device", profile().name}});
  if (shared_.on_change) shared_.on_change(health());
}

std::shared_ptr<ComputeDevice> DeviceSlot::serving() const {
  MutexLock lock(mutex_);
  return takes_jobs() ? device_ : nullptr;
}

std::shared_ptr<ComputeDevice> DeviceSlot::trusted() const {
  MutexLock lock(mutex_);
  return health_.takes_jobs() ? device_ : nullptr;
}

void DeviceSlot::Release(ContentId content, bool is_of_use) const {
  std::shared_ptr<ComputeDevice> device;
  {
    MutexLock lock(mutex_);
    device = device_;
  }
  if (device != nullptr) device->Release(content, is_of_use);
}

bool DeviceSlot::Serves(const ComputeDevice& device) const {
  MutexLock lock(mutex_);
  return health_.takes_jobs() && device_.get() == &device;
}

bool DeviceSlot::Supports(OpId op, DataType lane) const {
  MutexLock lock(mutex_);
  return supported_.Has(op, lane);
}

std::optional<Clock::Duration> DeviceSlot::EstimateOf(const JobTraits& job) const {
  if (job.sequence != nullptr) return costs_.EstimateSequence(job.sequence->size);
  return costs_.EstimateLike(job.lane, job.bytes);
}

std::optional<Clock::Duration> DeviceSlot::KnownTimeOf(const JobTraits& job, uint64_t bytes) const {
  if (job.sequence != nullptr) return costs_.EstimateSequence(job.sequence->size);
  return costs_.Estimate(job.lane, bytes);
}

void DeviceSlot::LearnTimeOf(const JobTraits& job, uint64_t bytes, Clock::Duration busy) {
  if (job.sequence != nullptr) {
    costs_.ObserveSequence(job.sequence->size, busy);
  } else {
    costs_.Observe(job.lane, bytes, busy);
  }
}

Clock::Duration DeviceSlot::CarriageOf(uint64_t bytes) const {
  // The processor reads and writes each, and the GPU has its turn at the same memory. A call counts
  // with all that it reads and writes, and a batch is copied at once.
  return costs_.EstimateCopy(3 * bytes);
}

bool DeviceSlot::CanRun(const JobTraits& job) const {
  MutexLock lock(mutex_);
  return CanRunLocked(job);
}

bool DeviceSlot::CanRunLocked(const JobTraits& job) const {
  return takes_jobs() && SupportsAll(supported_, is_gpu(), job);
}

Candidate DeviceSlot::CandidateFor(const JobTraits& job, Clock::TimePoint now) const {
  const BatchQueue::Load load = queue_.load();
  Candidate candidate;
  candidate.kind = source_.profile.kind;
  candidate.is_software = source_.profile.is_software;
  candidate.pending = load.pending;
  candidate.estimate = EstimateOf(job);
  if (load.pending > 0) {
    candidate.backlog = costs_.EstimateAny(ExpectedRuns(load, limits_), load.pending_bytes);
  }
  candidate.is_leased = load.lease != kNoLease && load.lease != job.lease;
  MutexLock lock(mutex_);
  candidate.can_run = CanRunLocked(job);
  candidate.backlog += active_.TimeLeft(now);
  return candidate;
}

uint64_t DeviceSlot::BeginRun(Clock::Duration expected) {
  const Clock::TimePoint now = shared_.clock.Now();
  MutexLock lock(mutex_);
  return active_.Begin(now, expected);
}

Clock::Duration DeviceSlot::EndRun(uint64_t run) {
  const Clock::TimePoint now = shared_.clock.Now();
  MutexLock lock(mutex_);
  return active_.End(run, now);
}

int DeviceSlot::active_runs() const {
  MutexLock lock(mutex_);
  return static_cast<int>(active_.size());
}

void DeviceSlot::OnSuccess(const ComputeDevice& device) {
  NoteTransfers(device);
  Tell(&device, [](DeviceHealth& health, Clock::TimePoint) { health.OnSuccess(); });
}

bool DeviceSlot::OnFailure(const ComputeDevice& device, const absl::Status& why) {
  return Tell(&device, [&why](DeviceHealth& health, Clock::TimePoint now) {
    if (why.code() == absl::StatusCode::kUnavailable) {
      health.OnLost(now, why.message());
    } else {
      health.OnFault(now, why.message());
    }
  });
}

bool DeviceSlot::OnMismatch(const ComputeDevice& device, absl::string_view why) {
  return Tell(&device,
              [why](DeviceHealth& health, Clock::TimePoint now) { health.OnMismatch(now, why); });
}

bool DeviceSlot::OnSelfTestFailed(const ComputeDevice& device, const KernelLane& lane,
                                  absl::string_view why) {
  {
    MutexLock lock(mutex_);
    once_wrong_.insert(lane);
  }
  return Tell(&device, [why](DeviceHealth& health, Clock::TimePoint now) {
    health.OnSelfTestFailed(now, why);
  });
}

std::vector<KernelLane> DeviceSlot::Untested(const ComputeDevice& device,
                                             std::span<const KernelLane> lanes) const {
  std::vector<KernelLane> untested;
  MutexLock lock(mutex_);
  for (const KernelLane& lane : lanes) {
    if (device_.get() != &device || !tested_.contains(lane)) untested.push_back(lane);
  }
  return untested;
}

void DeviceSlot::OnTested(const ComputeDevice& device, std::span<const KernelLane> lanes) {
  MutexLock lock(mutex_);
  if (device_.get() == &device) tested_.insert(lanes.begin(), lanes.end());
}

void DeviceSlot::OnRefused(const ComputeDevice& device, const KernelLane& lane) {
  MutexLock lock(mutex_);
  if (device_.get() == &device) supported_.Remove(lane);
}

std::vector<KernelLane> DeviceSlot::LanesToTest(const ComputeDevice& device) const {
  std::vector<KernelLane> lanes = RepresentativeLanesOf(device);
  MutexLock lock(mutex_);
  for (const KernelLane& lane : once_wrong_) {
    const bool is_there = std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
    if (!is_there && device.Supports(lane.op, lane.type)) lanes.push_back(lane);
  }
  return lanes;
}

Clock::TimePoint DeviceSlot::next_attempt() const {
  MutexLock lock(mutex_);
  return health_.next_attempt();
}

absl::StatusOr<std::unique_ptr<ComputeDevice>> DeviceSlot::Create() {
  Tell(nullptr, [](DeviceHealth& health, Clock::TimePoint) { health.OnRecreateStarted(); });
  std::shared_ptr<ComputeDevice> old;
  {
    MutexLock lock(mutex_);
    old = std::move(device_);
    device_ = nullptr;
    past_transfers_ = Sum(past_transfers_, transfers_);
    transfers_ = {};
  }
  // The new device may need the memory of the old one.
  old = nullptr;
  return source_.create();
}

void DeviceSlot::Install(std::shared_ptr<ComputeDevice> device,
                         std::span<const KernelLane> tested) {
  KernelSupport supported(*device);
  // Without the lock, because the device has one.
  const TransferCounters transfers = device->transfers();
  {
    MutexLock lock(mutex_);
    feature_level_ = device->profile().feature_level;
    transfers_ = transfers;
    device_ = std::move(device);
    supported_ = std::move(supported);
    tested_ = {tested.begin(), tested.end()};
  }
  Tell(nullptr, [](DeviceHealth& health, Clock::TimePoint now) { health.OnRecreated(now); });
}

void DeviceSlot::OnCreateFailed(const absl::Status& why) {
  Tell(nullptr, [&why](DeviceHealth& health, Clock::TimePoint now) {
    health.OnRecreateFailed(now, why.message());
  });
}

void DeviceSlot::OnNewDeviceWrong(const KernelLane& lane, absl::string_view why) {
  {
    MutexLock lock(mutex_);
    once_wrong_.insert(lane);
  }
  Tell(nullptr,
       [why](DeviceHealth& health, Clock::TimePoint now) { health.OnSelfTestFailed(now, why); });
}

bool DeviceSlot::Tell(const ComputeDevice* device,
                      absl::FunctionRef<void(DeviceHealth&, Clock::TimePoint)> event) {
  const Clock::TimePoint now = shared_.clock.Now();
  bool took_jobs = false;
  std::optional<DeviceHealth> changed;
  {
    MutexLock lock(mutex_);
    if (device != nullptr && device_.get() != device) return false;
    const DeviceState before = health_.state();
    took_jobs = health_.takes_jobs();
    event(health_, now);
    if (health_.state() != before) changed = health_;
  }
  if (!changed) return false;
  LogState(*changed, now);
  if (changed->state() == DeviceState::kLost && took_jobs) {
    Count([](SlotCounters& counters) { ++counters.losses; });
  }
  if (shared_.on_change) shared_.on_change(*changed);
  return took_jobs && !changed->takes_jobs();
}

void DeviceSlot::LogState(const DeviceHealth& health, Clock::TimePoint now) {
  const bool is_good =
      health.state() == DeviceState::kReady || health.state() == DeviceState::kRecreating;
  const LogLevel level = is_good ? LogLevel::kInfo : LogLevel::kWarn;
  if (health.next_attempt() == Clock::kNever) {
    shared_.logger.Log(level, "device state",
                       {{"device", profile().name},
                        {"state", NameOf(health.state())},
                        {"reason", health.reason()}});
    return;
  }
  const auto wait =
      std::chrono::duration_cast<std::chrono::milliseconds>(health.next_attempt() - now);
  shared_.logger.Log(level, "device state",
                     {{"device", profile().name},
                      {"state", NameOf(health.state())},
                      {"reason", health.reason()},
                      {"next_attempt_ms", wait.count()}});
}

TransferCounters DeviceSlot::transfers() const {
  MutexLock lock(mutex_);
  return Sum(past_transfers_, transfers_);
}

// They change in runs and reads alone, so this is often enough. Nobody who asks for them has to
// hold the device, which takes long to destroy.
void DeviceSlot::NoteTransfers(const ComputeDevice& device) {
  const TransferCounters now = device.transfers();
  MutexLock lock(mutex_);
  if (device_.get() == &device) transfers_ = now;
}

DeviceHealth DeviceSlot::health() const {
  MutexLock lock(mutex_);
  return health_;
}

DeviceState DeviceSlot::state() const {
  MutexLock lock(mutex_);
  return set_aside_ ? DeviceState::kSetAside : health_.state();
}

std::string DeviceSlot::state_reason() const {
  MutexLock lock(mutex_);
  return set_aside_ ? *set_aside_ : health_.reason();
}

}  // namespace opserve
