#include "server/d3d12/d3d12_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/hlsl/expressions.h"
#include "kernels/op_rows.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/content_cache.h"
#include "server/d3d12/content_transfers.h"
#include "server/d3d12/destroy_when_idle.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/kernel_costs.h"
#include "server/d3d12/memory_budget.h"
#include "server/d3d12/pipeline_cache.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/recording.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/sequence_layout.h"
#include "server/d3d12/staging_ring.h"
#include "server/d3d12/submission_stamp.h"
#include "server/device/busy_time.h"

namespace opserve::d3d12 {
namespace {

// How long the destructor of a lost device waits for its memory to become free. Most drivers need
// no time at all, and whoever makes the next device may need the memory.
constexpr std::chrono::seconds kPatience{1};

// The highest feature level of the device, "12_1".
absl::StatusOr<std::string> FeatureLevelOf(ID3D12Device& device) {
  constexpr std::array kLevels = {D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1,
                                  D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1,
                                  D3D_FEATURE_LEVEL_12_2};
  D3D12_FEATURE_DATA_FEATURE_LEVELS levels{kLevels.size(), kLevels.data(), D3D_FEATURE_LEVEL_11_0};
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(
      device.CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, &levels, sizeof(levels))));
  // 0xc100 is 12_1.
  const auto number = static_cast<unsigned>(levels.MaxSupportedFeatureLevel);
  return absl::StrCat(number >> 12, "_", number >> 8 & 15);
}

DeviceProfile ProfileOf(const AdapterInfo& adapter, const std::string& name,
                        const std::string& feature_level) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kGpu;
  profile.name = name.empty() ? absl::StrCat("d3d12/", adapter.name) : name;
  profile.description = adapter.name;
  profile.runtime = adapter.runtime;
  profile.driver = adapter.driver;
  profile.feature_level = feature_level;
  profile.memory_bytes = adapter.memory_bytes;
  profile.is_software = adapter.is_software;
  return profile;
}

// Whether there are kernels for every type of output, mode and layout.
bool HasKernels(const OpTraits& op, DataType lane) {
  const DataTypeSet outputs = op.OutputTypes(lane);
  for (DataType output : kAllDataTypes) {
    if (!outputs.contains(output)) continue;
    for (int mode = 0; mode < op.mode_count(); ++mode) {
      for (hlsl::LayoutClass layout : {hlsl::LayoutClass::kPacked, hlsl::LayoutClass::kStrided}) {
        if (hlsl::FindBlob({op.id, lane, output, mode, layout}) == nullptr) return false;
      }
    }
  }
  return true;
}

// Whether the device alone has the result of `call` once it is computed.
bool Stays(const DeviceCall& call, const ContentTransfers<Buffer>& transfers) {
  return call.content.stays != nullptr && transfers.IsKept(call.content.id);
}

// What is read back of a batch: one range per stretch of results of which none stays.
std::vector<ByteRange> ReadbacksOf(const BatchLayout& layout, std::span<const DeviceCall> calls,
                                   const ContentTransfers<Buffer>& transfers) {
  std::vector<ByteRange> ranges;
  bool follows_readback = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool stays = Stays(calls[i], transfers);
    const CallPlace& place = layout.places[i];
    if (!stays && !follows_readback) ranges.push_back({place.at.output, 0});
    if (!stays) ranges.back().end = place.at.output + place.result_bytes;
    follows_readback = !stays;
  }
  return ranges;
}

void WriteInputs(const BatchLayout& layout, std::span<const DeviceCall> calls, std::byte* to) {
  for (size_t i = 0; i < calls.size(); ++i) WriteInputs(layout, i, calls[i], to);
}

// Whether a kernel of the batch, or of the sequence, may leave elements open.
bool LeavesOpen(const BatchLayout& layout) { return hlsl::LeavesOpen(layout.kernel.op); }

bool LeavesOpen(const SequenceLayout& layout) {
  return std::any_of(layout.steps.begin(), layout.steps.end(),
                     [](const StepLayout& step) { return hlsl::LeavesOpen(step.kernel.op); });
}

absl::Status NoKernel(const hlsl::KernelKey& key, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("There is no GPU kernel for ", TraitsOf(key.op).name,
                                               " of ", NameOf(key.lane), why));
}

// What the driver allows now.
uint64_t BudgetOf(const Device& device, uint64_t own_bytes, uint64_t cap) {
  return MemoryBudgetOf({.adapter_bytes = device.adapter().memory_bytes,
                         .is_shared = device.shares_memory(),
                         .report = device.memory(),
                         .own_bytes = own_bytes},
                        cap);
}

}  // namespace

struct D3D12Device::Impl {
  Impl(std::unique_ptr<Device> made, const DeviceOptions& limits, const std::string& feature_level)
      : options(limits),
        device(std::move(made)),
        profile(ProfileOf(device->adapter(), limits.name, feature_level)),
        buffers(
            BudgetOf(*device, 0, limits.memory_budget),
            [this](uint64_t bytes) { return device->CreateBuffer(BufferKind::kDefault, bytes); }),
        contents(buffers),
        pipelines([this](const std::byte* const& code) -> absl::StatusOr<Pipeline> {
          return device->CreatePipeline(hlsl::CodeOf(*blobs.at(code)));
        }) {
    for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
      blobs.emplace(blob.packed.data(), &blob);
    }
    for (const OpTraits& op : OpTable()) {
      for (DataType lane : kAllDataTypes) SupportOf(op.id, lane) = HasKernels(op, lane);
    }
  }

  // Whether calls of the operator in this lane type can run; also for types that no operator takes.
  std::atomic<bool>& SupportOf(OpId op, DataType lane) {
    return support[static_cast<size_t>(op)][static_cast<size_t>(lane)];
  }
  absl::StatusOr<Pipeline> PipelineOf(const hlsl::KernelKey& key);
  // How long what is submitted now may take, with what is under way before it.
  std::chrono::nanoseconds TimeLimit() const {
    return HangLimit(options.timeout, profile.is_software,
                     {bytes_under_way, std::chrono::nanoseconds(expected_under_way)});
  }
  // Bounds the commands of `dispatch` by what its kernel is expected to take. Returns what it
  // computes.
  KernelWork Bound(const hlsl::KernelKey& kernel, Dispatch& dispatch) const;
  // Has the buffers take no more than the adapter has to give, where nobody has asked lately.
  void UpdateBudget();
  // Staging memory for so many bytes in each direction, and for the stamp.
  absl::Status TakeStaging(uint64_t upload_bytes, uint64_t readback_bytes,
                           SubmissionMemory& memory);
  // Memory for so many bytes of inputs and to read back, buffers of so many for results, a word for
  // kernels that leave elements open, and what copies there is room for.
  absl::StatusOr<SubmissionMemory> TakeMemory(uint64_t input_bytes, uint64_t readback_bytes,
                                              std::span<const uint64_t> result_buffers,
                                              bool leaves_open, ContentTransfers<Buffer> transfers);
  // The same for `calls`, with the inputs that are to be uploaded. Where copies that they read take
  // what their other memory lacks, they do without.
  template <class Layout, class Calls>
  absl::StatusOr<SubmissionMemory> TakeInputs(const Layout& layout, const Calls& calls,
                                              uint64_t readback_bytes,
                                              std::span<const uint64_t> result_buffers,
                                              bool reads_copies = true);
  // Submits what `record` writes, and waits. `bytes`: of all tensors; `work`: of all kernels, whose
  // costs are learnt from it. Returns what was read back, which lies in `memory`, once it is
  // certain that it is this submission's; OUT_OF_RANGE where a kernel left an element open.
  // `memory` is kept for ever where the device may still use it, or did not do what it said.
  absl::StatusOr<const std::byte*> Execute(
      uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
      absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // Submits, waits, and looks whether the stamp has arrived; UNAVAILABLE where the device is lost.
  absl::Status RunToTheEnd(SubmissionMemory& memory,
                           absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // The most bytes that a buffer may have: one of the pool may be a quarter larger than what it was
  // asked for.
  uint64_t MaxBufferBytes() const { return device->adapter().max_buffer_bytes / 5 * 4; }
  absl::Status RunSequence(const SequenceCall& call);
  absl::Status Run(std::span<const DeviceCall> calls);
  absl::Status Read(ContentId content, std::span<std::byte> to);
  // Returns `status` of a function of the device; marks the device lost where it says so.
  absl::Status Noting(const absl::Status& status);
  // Declares the device lost, and has all who wait for it notice.
  void MarkLost(const absl::Status& reason);

  const DeviceOptions options;
  const std::unique_ptr<Device> device;
  const DeviceProfile profile;
  std::array<std::array<std::atomic<bool>, kDataTypeCount>, op_rows::kRowCount> support{};
  // By packed code, which several kernels may share.
  std::map<const std::byte*, const hlsl::Blob*> blobs;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<StagingRing> upload;
  std::unique_ptr<StagingRing> readback;
  BufferPool<Buffer> buffers;
  ContentCache<Buffer> contents;
  PipelineCache<const std::byte*, Pipeline> pipelines;
  StampNumbers stamp_numbers;
  KernelCosts costs;
  // Of all batches that are submitted and not waited for: bytes of their buffers, and nanoseconds
  // that their kernels are expected to take.
  std::atomic<uint64_t> bytes_under_way = 0;
  std::atomic<int64_t> expected_under_way = 0;
  BusyTime busy_time;
  // When the driver is to be asked for its memory again.
  std::atomic<std::chrono::steady_clock::time_point> next_report{options.now() +
                                                                 options.memory_interval};
  // As TransferCounters tells them.
  std::atomic<uint64_t> uploaded_bytes = 0;
  std::atomic<uint64_t> kept_inputs = 0;
  std::atomic<uint64_t> kept_results = 0;
  std::atomic<uint64_t> read_results = 0;
  Mutex mutex;
  std::vector<SubmissionMemory> abandoned ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<Pipeline> D3D12Device::Impl::PipelineOf(const hlsl::KernelKey& key) {
  const hlsl::Blob* const blob = hlsl::FindBlob(key);
  if (blob == nullptr) return NoKernel(key, ".");
  absl::StatusOr<Pipeline> pipeline = pipelines.Get(blob->packed.data());
  if (!absl::IsInternal(pipeline.status())) return pipeline;
  // The driver refuses this kernel, now and later; that does not make the device a bad one.
  SupportOf(key.op, key.lane) = false;
  return NoKernel(key, absl::StrCat(" on this device: ", pipeline.status().message()));
}

void D3D12Device::Impl::UpdateBudget() {
  const auto now = options.now();
  auto due = next_report.load();
  // One thread asks; the others do with what was said before.
  if (now < due || !next_report.compare_exchange_strong(due, now + options.memory_interval)) return;
  contents.SetBudget(BudgetOf(*device, buffers.total_bytes(), options.memory_budget));
}

absl::Status D3D12Device::Impl::TakeStaging(uint64_t upload_bytes, uint64_t readback_bytes,
                                            SubmissionMemory& memory) {
  memory.stamp = SubmissionStamp(stamp_numbers.Next(), upload_bytes, readback_bytes);
  // Only the rings wait, and always in this order, so that no two threads wait for each other.
  absl::StatusOr<StagingRing::Lease> staging =
      upload->Acquire(memory.stamp.upload_bytes(), TimeLimit());
  if (!staging.ok()) return staging.status();
  memory.upload = *std::move(staging);
  staging = readback->Acquire(memory.stamp.readback_bytes(), TimeLimit());
  if (!staging.ok()) return staging.status();
  memory.readback = *std::move(staging);
  memory.stamp.Prepare(memory.upload.data(), memory.readback.data());
  return absl::OkStatus();
}

absl::StatusOr<SubmissionMemory> D3D12Device::Impl::TakeMemory(
    uint64_t input_bytes, uint64_t readback_bytes, std::span<const uint64_t> result_buffers,
    bool leaves_open, ContentTransfers<Buffer> transfers) {
  // A device that is lost in the meantime keeps its memory, which must not look like a shortage.
  const auto failed = [this](const absl::Status& why) {
    absl::Status status = device->status();
    return status.ok() ? why : status;
  };
  UpdateBudget();
  SubmissionMemory memory{.contents = std::move(transfers)};
  memory.uploads = memory.contents.Uploads(input_bytes);
  const uint64_t upload_bytes = memory.uploads.empty() ? 1 : memory.uploads.back().end;
  const absl::Status staging = TakeStaging(upload_bytes, readback_bytes, memory);
  if (!staging.ok()) return failed(staging);
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = contents.Acquire(input_bytes);
  if (!buffer.ok()) return failed(buffer.status());
  memory.inputs = *std::move(buffer);
  for (const uint64_t bytes : result_buffers) {
    buffer = contents.Acquire(bytes);
    if (!buffer.ok()) return failed(buffer.status());
    memory.outputs.push_back(*std::move(buffer));
  }
  if (leaves_open) {
    buffer = contents.Acquire(SubmissionStamp::kMarkBytes);
    if (!buffer.ok()) return failed(buffer.status());
    memory.open = *std::move(buffer);
  }
  memory.contents.TakeRoom();
  return memory;
}

template <class Layout, class Calls>
absl::StatusOr<SubmissionMemory> D3D12Device::Impl::TakeInputs(
    const Layout& layout, const Calls& calls, uint64_t readback_bytes,
    std::span<const uint64_t> result_buffers, bool reads_copies) {
  ContentTransfers<Buffer> transfers(contents, reads_copies);
  const auto uploads = AddContents(layout, calls, transfers);
  const bool has_copies = !transfers.kept_inputs().empty();
  absl::StatusOr<SubmissionMemory> memory =
      TakeMemory(layout.input_buffer_bytes, readback_bytes, result_buffers, LeavesOpen(layout),
                 std::move(transfers));
  if (has_copies && absl::IsResourceExhausted(memory.status())) {
    return TakeInputs(layout, calls, readback_bytes, result_buffers, /*reads_copies=*/false);
  }
  if (memory.ok()) WriteInputs(layout, uploads, memory->upload.data());
  return memory;
}

absl::Status D3D12Device::Impl::RunToTheEnd(
    SubmissionMemory& memory, absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const auto record_all = [&](ID3D12GraphicsCommandList& list) {
    record(list);
    RecordStamp(list, memory);
  };
  const absl::StatusOr<Serial> serial = queue->Submit(record_all, TimeLimit());
  absl::Status status = serial.status();
  if (serial.ok()) status = queue->timeline().Wait(*serial, TimeLimit());
  if (status.ok() && !memory.stamp.HasArrived(memory.readback.data())) {
    status = absl::DataLossError(
        absl::StrCat("It says that submission ", static_cast<uint64_t>(*serial),
                     " is done, but has not carried it out: its stamp was not copied."));
  }
  if (absl::IsUnavailable(status)) return status;
  if (absl::IsDeadlineExceeded(status) || (serial.ok() && !status.ok())) {
    return absl::UnavailableError(absl::StrCat("The device is lost: ", status.message()));
  }
  return status;
}

KernelWork D3D12Device::Impl::Bound(const hlsl::KernelKey& kernel, Dispatch& dispatch) const {
  KernelWork work{{kernel, dispatch.loop_count}};
  dispatch.most_blocks = costs.BlocksWithin(work.variant, options.longest_dispatch);
  for (const DispatchPiece& piece : PiecesOf(kernel, dispatch)) {
    work.blocks += piece.computed_blocks;
  }
  return work;
}

absl::StatusOr<const std::byte*> D3D12Device::Impl::Execute(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const int64_t expected = costs.Estimate(work).count();
  const auto begin = options.now();
  bytes_under_way += bytes;
  expected_under_way += expected;
  absl::Status status = RunToTheEnd(memory, record);
  bytes_under_way -= bytes;
  expected_under_way -= expected;
  const auto end = options.now();
  const auto took = busy_time.Note(begin, end);
  if (status.ok()) costs.Observe(work, took);
  if (absl::IsUnavailable(status)) {
    MutexLock lock(mutex);
    abandoned.push_back(std::move(memory));
    return status;
  }
  if (!status.ok()) return status;
  if (memory.stamp.IsMarked(memory.readback.data())) {
    return absl::OutOfRangeError("Elements are left open, which more digits have to decide.");
  }
  memory.contents.Keep();
  for (const ByteRange& range : memory.uploads) uploaded_bytes += range.bytes();
  kept_inputs += memory.contents.kept_inputs().size();
  return memory.readback.data();
}

absl::Status D3D12Device::Impl::Run(std::span<const DeviceCall> calls) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  if (calls[0].sequence != nullptr) return RunSequence(*calls[0].sequence);
  absl::StatusOr<BatchLayout> layout = LayOut(calls, MaxBufferBytes());
  if (!layout.ok()) return layout.status();
  const absl::StatusOr<Pipeline> pipeline = PipelineOf(layout->kernel);
  if (!pipeline.ok()) return pipeline.status();
  std::vector<KernelWork> work;
  for (Dispatch& dispatch : layout->dispatches) work.push_back(Bound(layout->kernel, dispatch));
  absl::StatusOr<SubmissionMemory> memory =
      TakeInputs(*layout, calls, layout->result_bytes, {&layout->output_buffer_bytes, 1});
  if (!memory.ok()) return memory.status();
  memory->readbacks = ReadbacksOf(*layout, calls, memory->contents);
  std::vector<bool> stays;
  for (const DeviceCall& call : calls) stays.push_back(Stays(call, memory->contents));
  const absl::StatusOr<const std::byte*> results =
      Execute(layout->input_buffer_bytes + layout->output_buffer_bytes, work, *memory,
              [&](ID3D12GraphicsCommandList& list) {
                RecordBatch(list, device->root_signature(), *(*pipeline).Get(), *layout, *memory);
              });
  if (!results.ok()) return results.status();
  for (size_t i = 0; i < calls.size(); ++i) {
    if (stays[i]) {
      *calls[i].content.stays = true;
      ++kept_results;
    } else {
      WriteResult(layout->places[i], calls[i], *results);
    }
  }
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::Read(ContentId content, std::span<std::byte> to) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  SubmissionMemory memory{.contents = ContentTransfers<Buffer>(contents)};
  memory.read = contents.Find(content, to.size());
  if (memory.read == nullptr) {
    return absl::NotFoundError(absl::StrCat("The device keeps no content ", content, "."));
  }
  if (absl::Status staging = TakeStaging(1, to.size(), memory); !staging.ok()) {
    OPSERVE_RETURN_IF_ERROR(device->status());
    return staging;
  }
  const absl::StatusOr<const std::byte*> bytes = Execute(
      to.size(), {}, memory,
      [&](ID3D12GraphicsCommandList& list) { RecordRead(list, *memory.read, to.size(), memory); });
  if (!bytes.ok()) return bytes.status();
  std::memcpy(to.data(), *bytes, to.size());
  ++read_results;
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::Noting(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  MarkLost(status);
  // With what the run time says of it, which a call that failed does not know.
  return device->status();
}

absl::Status D3D12Device::Impl::RunSequence(const SequenceCall& call) {
  absl::StatusOr<SequenceLayout> layout = LayOut(*call.sequence, MaxBufferBytes());
  if (!layout.ok()) return layout.status();
  std::vector<Pipeline> step_pipelines;
  std::vector<KernelWork> work;
  for (StepLayout& step : layout->steps) {
    absl::StatusOr<Pipeline> pipeline = PipelineOf(step.kernel);
    if (!pipeline.ok()) return pipeline.status();
    step_pipelines.push_back(*std::move(pipeline));
    work.push_back(Bound(step.kernel, step.dispatch));
  }
  absl::StatusOr<SubmissionMemory> memory =
      TakeInputs(*layout, call, layout->readback_bytes, layout->result_buffers);
  if (!memory.ok()) return memory.status();
  const absl::StatusOr<const std::byte*> results =
      Execute(layout->work_bytes, work, *memory, [&](ID3D12GraphicsCommandList& list) {
        RecordSequence(list, device->root_signature(), step_pipelines, *layout, *memory);
      });
  if (!results.ok()) return results.status();
  WriteResults(*layout, call, *results);
  return absl::OkStatus();
}

void D3D12Device::Impl::MarkLost(const absl::Status& reason) {
  device->MarkLost(reason);
  upload->Close();
  readback->Close();
}

absl::StatusOr<std::unique_ptr<D3D12Device>> D3D12Device::Create(
    std::shared_ptr<const Runtime> runtime, int adapter, const DeviceOptions& options) {
  absl::StatusOr<std::unique_ptr<Device>> device = Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  const absl::StatusOr<std::string> feature_level = FeatureLevelOf((*device)->api());
  if (!feature_level.ok()) return feature_level.status();
  auto impl = std::make_unique<Impl>(*std::move(device), options, *feature_level);
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(*impl->device);
  if (!queue.ok()) return queue.status();
  impl->queue = *std::move(queue);
  for (auto [ring, kind] : {std::pair(&impl->upload, BufferKind::kUpload),
                            std::pair(&impl->readback, BufferKind::kReadback)}) {
    absl::StatusOr<std::unique_ptr<StagingRing>> made =
        StagingRing::Create(*impl->device, kind, options.staging_bytes, impl->buffers.budget());
    if (!made.ok()) return made.status();
    *ring = *std::move(made);
  }
  // Making it may have been told by nothing else.
  OPSERVE_RETURN_IF_ERROR(impl->device->status());
  return std::unique_ptr<D3D12Device>(new D3D12Device(std::move(impl)));
}

D3D12Device::D3D12Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

D3D12Device::~D3D12Device() {
  Timeline& timeline = impl_->queue->timeline();
  // Of a lost device no serial says what it still uses, and freeing that would be worse than
  // leaking it.
  if (timeline.Wait(timeline.last(), impl_->TimeLimit()).ok()) return;
  DestroyWhenIdle(
      std::move(impl_), [](const Impl& impl) { return impl.device->WaitUntilIdle(); }, kPatience);
}

const DeviceProfile& D3D12Device::profile() const { return impl_->profile; }

bool D3D12Device::Supports(OpId op, DataType lane) const { return impl_->SupportOf(op, lane); }

absl::Status D3D12Device::Run(std::span<const DeviceCall> calls) {
  return impl_->Noting(impl_->Run(calls));
}

absl::Status D3D12Device::Read(ContentId content, std::span<std::byte> to) {
  return impl_->Noting(impl_->Read(content, to));
}

TransferCounters D3D12Device::transfers() const {
  return {.budget_bytes = impl_->buffers.budget(),
          .kept_bytes = impl_->contents.bytes(),
          .uploaded_bytes = impl_->uploaded_bytes,
          .kept_inputs = impl_->kept_inputs,
          .evictions = impl_->contents.evictions(),
          .kept_results = impl_->kept_results,
          .read_results = impl_->read_results};
}

absl::Status D3D12Device::status() const { return impl_->device->status(); }

uint64_t D3D12Device::pooled_bytes() const { return impl_->buffers.total_bytes(); }

std::chrono::nanoseconds HangLimit(std::chrono::nanoseconds fixed, bool is_software,
                                   const PendingWork& pending) {
  const std::chrono::nanoseconds for_bytes =
      (is_software ? kSoftwareTimePerByte : kTimePerByte) * pending.bytes;
  return fixed + std::max(for_bytes, 4 * pending.expected);
}

}  // namespace opserve::d3d12
