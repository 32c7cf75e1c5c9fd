#include "server/pool/device_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <thread>
#include <utility>

#include "proto/base/mutex.h"
#include "server/pool/batch_runner.h"
#include "server/pool/device_keeper.h"
#include "server/pool/device_slot.h"
#include "server/pool/router.h"
#include "server/pool/verify/result_check.h"

namespace opserve {
namespace {

// A job that runs in the thread that submits it keeps that from its other work, so it must not take
// longer than receiving it did. Short ones never do.
constexpr Clock::Duration kLongestInline = std::chrono::microseconds(250);
constexpr uint64_t kShortBytes = uint64_t{16} << 10;

// Jobs of the processor run one by one, as many at a time as there are workers.
BatchLimits ProcessorLimits(int workers) {
  return {.max_requests = 1,
          .max_bytes = UINT64_MAX,
          .max_delay = Clock::Duration::zero(),
          .max_in_flight = std::max(workers, 1)};
}

BatchLimits GpuLimits(BatchLimits limits) {
  limits.max_requests = std::max<size_t>(limits.max_requests, 1);
  limits.max_in_flight = std::max(limits.max_in_flight, 1);
  return limits;
}

void RunBatches(BatchQueue& queue, BatchRunner& runner) {
  for (;;) {
    Batch batch = queue.Take();
    if (batch.empty()) return;
    runner.Run(std::move(batch));
    queue.Done();
  }
}

DeviceStatus StatusOf(const DeviceSlot& slot) {
  DeviceStatus status;
  status.profile = slot.full_profile();
  const DeviceHealth health = slot.health();
  status.state = health.state();
  status.reason = health.reason();
  const BatchQueue::Load load = slot.queue().load();
  status.pending = load.pending;
  status.pending_bytes = load.pending_bytes;
  status.in_flight = load.in_flight;
  status.counters = slot.counters();
  status.transfers = slot.transfers();
  return status;
}

}  // namespace

struct DevicePool::Impl {
  Impl(const PoolOptions& options, const Clock& clock_in, Logger& logger,
       std::shared_ptr<ComputeDevice> cpu, std::vector<DeviceSource> gpus,
       std::function<void()> on_change_in);
  ~Impl();

  void AddSlot(DeviceSource source, const BatchLimits& limits, const HealthOptions& health) {
    slots.push_back(std::make_unique<DeviceSlot>(std::move(source), limits, health, shared));
  }
  bool SubmitOrThrow(Job& job, absl::FunctionRef<void()> before_queued);
  // Whether the job, which is for the processor, is short enough to run in this thread.
  bool IsForThisThread(const JobTraits& traits);
  void StartThreads(size_t slot, int count, std::vector<std::thread>& threads);
  void OnChange(const DeviceHealth& health);
  // The maintenance thread.
  void MaintainUntilStopped();
  void WakeMaintenance();
  // Waits until `until`, a wake-up, or the end; false at the end.
  bool WaitForMaintenance(Clock::TimePoint until);

  const Clock& clock;
  const uint64_t inline_bytes;
  const std::function<void()> on_change;
  const std::shared_ptr<ComputeDevice> processor;
  const DeviceSlot::Shared shared;
  Slots slots;
  Router router;
  DeviceKeeper keeper;
  Sampler sampler;
  std::vector<std::unique_ptr<BatchRunner>> runners;
  std::atomic<bool> closed{false};

  Mutex mutex;
  std::condition_variable_any changed;
  bool woken ABSL_GUARDED_BY(mutex) = false;
  bool stopping ABSL_GUARDED_BY(mutex) = false;

  std::vector<std::thread> gpu_threads;
  std::vector<std::thread> cpu_threads;
  std::thread maintenance;
};

DevicePool::Impl::Impl(const PoolOptions& options, const Clock& clock_in, Logger& logger,
                       std::shared_ptr<ComputeDevice> cpu, std::vector<DeviceSource> gpus,
                       std::function<void()> on_change_in)
    : clock(clock_in),
      inline_bytes(options.inline_bytes),
      on_change(std::move(on_change_in)),
      processor(std::move(cpu)),
      shared{clock_in, logger, [this](const DeviceHealth& health) { OnChange(health); }},
      router(slots),
      keeper(slots, router, clock_in),
      sampler(options.verify_rate) {
  const BatchLimits cpu_limits = ProcessorLimits(options.cpu_workers);
  const BatchLimits gpu_limits = GpuLimits(options.batch);
  AddSlot({.profile = processor->profile(), .create = nullptr}, cpu_limits, options.health);
  slots.front()->Install(processor);
  for (DeviceSource& gpu : gpus) AddSlot(std::move(gpu), gpu_limits, options.health);
  keeper.Start();

  const BatchRunner::Parts parts = {clock, logger, router, *processor, sampler};
  for (const auto& slot : slots) runners.push_back(std::make_unique<BatchRunner>(parts, *slot));
  StartThreads(0, cpu_limits.max_in_flight, cpu_threads);
  for (size_t i = 1; i < slots.size(); ++i) {
    StartThreads(i, gpu_limits.max_in_flight, gpu_threads);
  }
  if (options.run_maintenance && slots.size() > 1) {
    maintenance = std::thread([this] { MaintainUntilStopped(); });
  }
}

DevicePool::Impl::~Impl() {
  closed = true;
  {
    MutexLock lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  // GPUs first: what they cannot run goes to the processor.
  for (size_t i = 1; i < slots.size(); ++i) slots[i]->queue().Close();
  for (std::thread& thread : gpu_threads) thread.join();
  slots.front()->queue().Close();
  for (std::thread& thread : cpu_threads) thread.join();
  if (maintenance.joinable()) maintenance.join();
}

bool DevicePool::Impl::SubmitOrThrow(Job& job, absl::FunctionRef<void()> before_queued) {
  DeviceSlot& chosen = router.Choose(job.traits());
  if (&chosen == slots.front().get() && IsForThisThread(job.traits())) {
    Batch batch = {&job};
    if (chosen.queue().TryBegin()) {
      runners.front()->Run(std::move(batch));
      chosen.queue().Done();
      return true;
    }
  }
  before_queued();
  return router.Place(job, chosen);
}

bool DevicePool::Impl::IsForThisThread(const JobTraits& traits) {
  if (traits.bytes > inline_bytes || traits.placement == Placement::kGpu) return false;
  // The queue refuses what is late.
  if (traits.deadline <= clock.Now()) return false;
  if (traits.bytes <= kShortBytes) return true;
  return slots.front()->costs().Estimate(traits.lane, traits.bytes).value_or(Clock::Duration()) <=
         kLongestInline;
}

void DevicePool::Impl::StartThreads(size_t slot, int count, std::vector<std::thread>& threads) {
  BatchQueue& queue = slots[slot]->queue();
  BatchRunner& runner = *runners[slot];
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&queue, &runner] { RunBatches(queue, runner); });
  }
}

void DevicePool::Impl::OnChange(const DeviceHealth& health) {
  if (health.next_attempt() != Clock::kNever) WakeMaintenance();
  if (on_change) on_change();
}

void DevicePool::Impl::WakeMaintenance() {
  MutexLock lock(mutex);
  woken = true;
  changed.notify_all();
}

void DevicePool::Impl::MaintainUntilStopped() {
  while (WaitForMaintenance(keeper.Maintain())) {
  }
}

bool DevicePool::Impl::WaitForMaintenance(Clock::TimePoint until) {
  MutexLock lock(mutex);
  while (!stopping && !woken) {
    const Clock::Duration wait = until - clock.Now();
    if (wait <= Clock::Duration::zero()) break;
    if (until == Clock::kNever) {
      changed.wait(mutex);
    } else {
      changed.wait_for(mutex, wait);
    }
  }
  woken = false;
  return !stopping;
}

DevicePool::DevicePool(const PoolOptions& options, const Clock& clock, Logger& logger,
                       std::shared_ptr<ComputeDevice> cpu, std::vector<DeviceSource> gpus,
                       std::function<void()> on_change)
    : impl_(std::make_unique<Impl>(options, clock, logger, std::move(cpu), std::move(gpus),
                                   std::move(on_change))) {}

DevicePool::~DevicePool() = default;

bool DevicePool::Submit(Job& job, absl::FunctionRef<void()> before_queued) {
  if (impl_->closed) return false;
  try {
    return impl_->SubmitOrThrow(job, before_queued);
  } catch (const std::exception&) {
    Job* held = &job;
    impl_->router.RefuseAll({&held, 1});
    return true;
  }
}

bool DevicePool::Cancel(Job& job) {
  return std::any_of(impl_->slots.begin(), impl_->slots.end(),
                     [&job](const auto& slot) { return slot->queue().Cancel(job); });
}

void DevicePool::Close() { impl_->closed = true; }

bool DevicePool::has_gpus() const { return impl_->slots.size() > 1; }

bool DevicePool::gpu_ready() const {
  return std::any_of(impl_->slots.begin() + 1, impl_->slots.end(),
                     [](const auto& slot) { return slot->health().takes_jobs(); });
}

const DeviceProfile* DevicePool::Find(absl::string_view name) const {
  const Slots& slots = impl_->slots;
  const auto found = std::find_if(slots.begin(), slots.end(), [name](const auto& slot) {
    return slot->profile().name == name;
  });
  return found == slots.end() ? nullptr : &(*found)->profile();
}

std::vector<DeviceStatus> DevicePool::Status() const {
  std::vector<DeviceStatus> statuses;
  for (const auto& slot : impl_->slots) statuses.push_back(StatusOf(*slot));
  return statuses;
}

std::vector<std::string> DevicePool::DevicesFor(OpId op, DataType lane) const {
  std::vector<std::string> names;
  for (const auto& slot : impl_->slots) {
    if (slot->Supports(op, lane)) names.push_back(slot->profile().name);
  }
  return names;
}

absl::StatusOr<std::vector<SelfTestResult>> DevicePool::SelfTest(absl::string_view device) {
  return impl_->keeper.SelfTest(device);
}

Clock::TimePoint DevicePool::Maintain() { return impl_->keeper.Maintain(); }

}  // namespace opserve
