#include "server/pool/device_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/named_thread.h"
#include "server/pool/batch_runner.h"
#include "server/pool/device_keeper.h"
#include "server/pool/device_reads.h"
#include "server/pool/device_slot.h"
#include "server/pool/maintenance_thread.h"
#include "server/pool/processor_runner.h"
#include "server/pool/router.h"
#include "server/pool/slots.h"
#include "server/pool/verify/result_check.h"

namespace opserve {
namespace {

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

DeviceStatus StatusOf(const DeviceSlot& slot) {
  DeviceStatus status;
  status.profile = slot.full_profile();
  status.state = slot.state();
  status.reason = slot.state_reason();
  const BatchQueue::Load load = slot.queue().load();
  status.pending = load.pending;
  status.pending_bytes = load.pending_bytes;
  status.in_flight = load.in_flight;
  status.is_idle = load.in_flight == 0 && load.visits == 0;
  status.lease = load.lease;
  status.counters = slot.counters();
  status.transfers = slot.transfers();
  return status;
}

}  // namespace

struct DevicePool::Impl {
  Impl(const PoolOptions& options, const Clock& clock_in, Logger& logger_in,
       std::shared_ptr<ComputeDevice> cpu, GpuFinder find_gpus_in,
       std::function<void()> on_change_in);
  ~Impl();

  bool SubmitOrThrow(Job& job, absl::FunctionRef<void()> before_queued);
  // The device that suits a new job best.
  Choice Choose(const JobTraits& traits);
  // `name`: of the threads, all of one device. `run` answers or passes on every job of a batch.
  // Throws where the system has not so many; then the slot's queue is closed, and none is left.
  std::vector<std::thread> StartThreads(absl::string_view name, DeviceSlot& slot, int count,
                                        const std::function<void(Batch)>& run);
  // Does that until the queue is closed.
  void RunBatches(BatchQueue& queue, const std::function<void(Batch)>& run);
  void OnChange(const DeviceHealth& health);
  void OnIdle();
  // The GPU of that name; nullptr: there is none.
  DeviceSlot* FindGpu(absl::string_view name) const;
  Clock::TimePoint Maintain();
  std::vector<DeviceSource> FindGpus();
  void AddGpus();
  // A slot with the threads that work for it. Throws where there is no memory or thread for it.
  std::unique_ptr<DeviceSlot> MakeGpu(DeviceSource source);

  const Clock& clock;
  Logger& logger;
  const BatchLimits gpu_limits;
  const HealthOptions health_options;
  const GpuFinder find_gpus;
  const std::function<void()> on_change;
  const std::shared_ptr<ComputeDevice> processor;
  const DeviceSlot::Shared shared;
  Slots slots;
  Router router;
  DeviceKeeper keeper;
  DeviceReads reads;
  Sampler sampler;
  const BatchRunner::Parts runner_parts;
  ProcessorRunner processor_runner;
  std::atomic<bool> closed{false};
  // Whether the GPUs are still to be found and added.
  std::atomic<bool> is_searching;

  MaintenanceThread maintenance;

  // Used by the thread in Maintain, and by the destructor after it.
  std::vector<std::unique_ptr<BatchRunner>> gpu_runners;
  std::vector<std::thread> gpu_threads;

  std::vector<std::thread> cpu_threads;
};

DevicePool::Impl::Impl(const PoolOptions& options, const Clock& clock_in, Logger& logger_in,
                       std::shared_ptr<ComputeDevice> cpu, GpuFinder find_gpus_in,
                       std::function<void()> on_change_in)
    : clock(clock_in),
      logger(logger_in),
      gpu_limits(GpuLimits(options.batch)),
      health_options(options.health),
      find_gpus(std::move(find_gpus_in)),
      on_change(std::move(on_change_in)),
      processor(std::move(cpu)),
      shared{clock_in, logger_in, [this](const DeviceHealth& health) { OnChange(health); }},
      slots(std::make_unique<DeviceSlot>(
          DeviceSource{.profile = processor->profile(), .create = nullptr},
          ProcessorLimits(options.cpu_workers), options.health, shared)),
      router(slots, clock_in),
      keeper(slots, router, clock_in, logger_in, options.calibration_bytes, [this] { OnIdle(); }),
      reads(router, [this] { OnIdle(); }),
      sampler(options.verify_rate),
      runner_parts{clock_in, logger_in, router, *processor, sampler},
      processor_runner({clock_in, logger_in, *processor, slots}, options.inline_bytes),
      is_searching(find_gpus != nullptr),
      maintenance(clock_in, [this] { return Maintain(); }) {
  slots.processor().Install(processor, {});
  const auto run = [this](const Batch& batch) {
    for (Job* const job : batch) processor_runner.Run(*job);
  };
  cpu_threads = StartThreads("runner/cpu", slots.processor(),
                             ProcessorLimits(options.cpu_workers).max_in_flight, run);
}

DevicePool::Impl::~Impl() {
  closed = true;
  keeper.Stop();
  maintenance.Stop();
  // From here on no GPU is added.
  // GPUs first: what they cannot run goes to the processor.
  for (DeviceSlot* const slot : slots.get()) {
    if (slot->is_gpu()) slot->queue().Close();
  }
  for (std::thread& thread : gpu_threads) thread.join();
  slots.processor().queue().Close();
  for (std::thread& thread : cpu_threads) thread.join();
}

bool DevicePool::Impl::SubmitOrThrow(Job& job, absl::FunctionRef<void()> before_queued) {
  const Choice chosen = Choose(job.traits());
  if (&chosen.slot == &slots.processor() && processor_runner.TryRun(job)) return true;
  before_queued();
  return router.Place(job, chosen);
}

Choice DevicePool::Impl::Choose(const JobTraits& traits) {
  const bool has_choice = slots.has_gpus() && traits.placement != Placement::kCpu;
  return has_choice ? router.Choose(traits) : Choice{slots.processor()};
}

std::vector<std::thread> DevicePool::Impl::StartThreads(absl::string_view name, DeviceSlot& slot,
                                                        int count,
                                                        const std::function<void(Batch)>& run) {
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.push_back(
          StartThread(name, [this, &queue = slot.queue(), run] { RunBatches(queue, run); }));
    }
  } catch (...) {
    slot.queue().Close();
    for (std::thread& thread : threads) thread.join();
    throw;
  }
  return threads;
}

void DevicePool::Impl::RunBatches(BatchQueue& queue, const std::function<void(Batch)>& run) {
  for (;;) {
    Batch batch = queue.Take();
    if (batch.empty()) return;
    run(std::move(batch));
    if (queue.Done()) OnIdle();
  }
}

void DevicePool::Impl::OnChange(const DeviceHealth& health) {
  if (health.next_attempt() != Clock::kNever) maintenance.Wake();
  if (on_change) on_change();
}

void DevicePool::Impl::OnIdle() {
  if (on_change) on_change();
}

DeviceSlot* DevicePool::Impl::FindGpu(absl::string_view name) const {
  for (DeviceSlot* const slot : slots.get()) {
    if (slot->is_gpu() && slot->profile().name == name) return slot;
  }
  return nullptr;
}

Clock::TimePoint DevicePool::Impl::Maintain() {
  if (is_searching) {
    AddGpus();
    is_searching = false;
  }
  return keeper.Maintain();
}

std::vector<DeviceSource> DevicePool::Impl::FindGpus() {
  try {
    return find_gpus();
  } catch (const std::exception& error) {
    logger.Log(LogLevel::kWarn, "cannot look for GPUs", {{"reason", error.what()}});
    return {};
  }
}

void DevicePool::Impl::AddGpus() {
  std::vector<DeviceSource> sources = FindGpus();
  std::vector<std::unique_ptr<DeviceSlot>> gpus;
  gpus.reserve(sources.size());
  for (DeviceSource& source : sources) {
    const std::string name = source.profile.name;
    try {
      // Nothing is placed on them before they are made.
      gpus.push_back(MakeGpu(std::move(source)));
    } catch (const std::exception& error) {
      logger.Log(LogLevel::kWarn, "GPU left out", {{"device", name}, {"reason", error.what()}});
    }
  }
  slots.AddGpus(std::move(gpus));
}

std::unique_ptr<DeviceSlot> DevicePool::Impl::MakeGpu(DeviceSource source) {
  auto gpu = std::make_unique<DeviceSlot>(std::move(source), gpu_limits, health_options, shared);
  auto runner = std::make_unique<BatchRunner>(runner_parts, *gpu);
  const auto run = [runner = runner.get()](Batch batch) { runner->Run(std::move(batch)); };
  const int count = gpu_limits.max_in_flight;
  // No memory is asked for once there are threads.
  gpu_runners.reserve(gpu_runners.size() + 1);
  gpu_threads.reserve(gpu_threads.size() + static_cast<size_t>(count));
  const std::string name = absl::StrCat("runner/gpu", gpu_runners.size());
  for (std::thread& thread : StartThreads(name, *gpu, count, run)) {
    gpu_threads.push_back(std::move(thread));
  }
  gpu_runners.push_back(std::move(runner));
  return gpu;
}

DevicePool::DevicePool(const PoolOptions& options, const Clock& clock, Logger& logger,
                       std::shared_ptr<ComputeDevice> cpu, GpuFinder find_gpus,
                       std::function<void()> on_change)
    : impl_(std::make_unique<Impl>(options, clock, logger, std::move(cpu), std::move(find_gpus),
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
  // Before the queues are looked at, because it may be on its way from one of them to another.
  job.SetCancelled();
  const std::vector<DeviceSlot*>& slots = impl_->slots.get();
  return std::any_of(slots.begin(), slots.end(),
                     [&job](DeviceSlot* slot) { return slot->queue().Cancel(job); });
}

void DevicePool::Close() { impl_->closed = true; }

void DevicePool::StartMaintenance() {
  if (has_gpus()) impl_->maintenance.Start();
}

bool DevicePool::has_gpus() const { return impl_->is_searching || impl_->slots.has_gpus(); }

bool DevicePool::gpu_ready() const {
  const std::vector<DeviceSlot*>& slots = impl_->slots.get();
  return std::any_of(slots.begin() + 1, slots.end(),
                     [](const DeviceSlot* slot) { return TakesJobs(slot->state()); });
}

GpuPresence DevicePool::gpu_presence() const {
  if (impl_->is_searching) return GpuPresence::kStarting;
  if (!impl_->slots.has_gpus()) return GpuPresence::kNone;
  bool any_starting = false;
  for (const DeviceSlot* const slot : impl_->slots.get()) {
    if (!slot->is_gpu()) continue;
    const DeviceState state = slot->state();
    if (TakesJobs(state)) return GpuPresence::kThere;
    any_starting = any_starting || state == DeviceState::kStarting;
  }
  return any_starting ? GpuPresence::kStarting : GpuPresence::kThere;
}

const DeviceProfile* DevicePool::Find(absl::string_view name) const {
  for (const DeviceSlot* const slot : impl_->slots.get()) {
    if (slot->profile().name == name) return &slot->profile();
  }
  return nullptr;
}

std::vector<DeviceStatus> DevicePool::Status() const {
  std::vector<DeviceStatus> statuses;
  for (const DeviceSlot* const slot : impl_->slots.get()) statuses.push_back(StatusOf(*slot));
  return statuses;
}

std::vector<std::string> DevicePool::DevicesFor(OpId op, DataType lane) const {
  std::vector<std::string> names;
  for (const DeviceSlot* const slot : impl_->slots.get()) {
    if (slot->Supports(op, lane)) names.push_back(slot->profile().name);
  }
  return names;
}

void DevicePool::Reserve(absl::string_view device, uint64_t lease) {
  DeviceSlot* const slot = impl_->FindGpu(device);
  if (slot != nullptr) impl_->router.PlaceAnew(slot->queue().Reserve(lease));
}

void DevicePool::EndReservation(absl::string_view device) {
  DeviceSlot* const slot = impl_->FindGpu(device);
  if (slot == nullptr) return;
  slot->queue().EndReservation();
  impl_->router.PlaceHeldAnew();
}

void DevicePool::SetDeviceAside(absl::string_view device, std::string why) {
  DeviceSlot* const slot = impl_->FindGpu(device);
  if (slot == nullptr) return;
  slot->SetAside(std::move(why));
  impl_->router.Evacuate(*slot);
}

void DevicePool::ResumeDevice(absl::string_view device) {
  DeviceSlot* const slot = impl_->FindGpu(device);
  if (slot == nullptr) return;
  slot->Resume();
  impl_->router.PlaceHeldAnew();
}

absl::Status DevicePool::Read(absl::string_view device, std::optional<uint64_t> lease,
                              ContentId content, std::span<std::byte> to) {
  DeviceSlot* const slot = impl_->FindGpu(device);
  if (slot == nullptr) return absl::NotFoundError("There is no such device.");
  return impl_->reads.Read(*slot, lease, content, to);
}

void DevicePool::Release(ContentId content, bool is_of_use) {
  for (DeviceSlot* const slot : impl_->slots.get()) slot->Release(content, is_of_use);
}

absl::Status DevicePool::Recompute(absl::string_view device, const DeviceCall& call) {
  if (DeviceSlot* const slot = impl_->FindGpu(device)) {
    slot->Count([](SlotCounters& counters) { ++counters.recomputed_results; });
  }
  return impl_->processor->Run({&call, 1});
}

absl::StatusOr<std::vector<SelfTestResult>> DevicePool::SelfTest(absl::string_view device,
                                                                 const std::atomic<bool>* stop) {
  return impl_->keeper.SelfTest(device, stop);
}

Clock::TimePoint DevicePool::Maintain() { return impl_->Maintain(); }

}  // namespace opserve
