#include "server/d3d12/d3d12_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/hlsl/expressions.h"
#include "kernels/op_rows.h"
#include "server/d3d12/batch_parts.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/content_cache.h"
#include "server/d3d12/content_transfers.h"
#include "server/d3d12/destroy_when_idle.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/host_copier.h"
#include "server/d3d12/host_copy.h"
#include "server/d3d12/kernel_costs.h"
#include "server/d3d12/memory_budget.h"
#include "server/d3d12/overlap.h"
#include "server/d3d12/pipeline_cache.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/recording.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/sequence_layout.h"
#include "server/d3d12/staging_ring.h"
#include "server/d3d12/submission_stamp.h"
#include "server/d3d12/transfer_way.h"
#include "server/device/busy_time.h"

namespace opserve::d3d12 {
namespace {

// How long the destructor of a lost device waits for its memory to become free. Most drivers need
// no time at all, and whoever makes the next device may need the memory.
constexpr std::chrono::seconds kPatience{1};

// How often a batch runs each way to be measured, after once to make pipelines and touch memory.
constexpr int kMeasuredRuns = 3;

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

void WriteInputs(const BatchLayout& layout, std::span<const DeviceCall> calls, std::byte* to,
                 HostCopies& copies) {
  for (size_t i = 0; i < calls.size(); ++i) WriteInputs(layout, i, calls[i], to, copies);
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

absl::Status LostBecause(const absl::Status& why) {
  if (absl::IsUnavailable(why)) return why;
  return absl::UnavailableError(absl::StrCat("The device is lost: ", why.message()));
}

// What tells the results of `calls` from others.
size_t HashOf(std::span<const DeviceCall> calls) {
  size_t hash = 0;
  for (const DeviceCall& call : calls) {
    const absl::string_view result(reinterpret_cast<const char*>(call.output),
                                   call.invocation->output_bytes);
    hash = absl::HashOf(hash, result);
  }
  return hash;
}

// How bytes get to kernels and back, where that need not be measured.
std::optional<TransferWay> GivenWay(const Device& device, const DeviceOptions& options) {
  // Kernels would bind staging memory as they bind buffers.
  if (options.staging_bytes > device.adapter().max_buffer_bytes) return TransferWay::kCopies;
  if (options.transfers) return options.transfers;
  if (device.adapter().is_software && !options.measures_software) return TransferWay::kCopies;
  return std::nullopt;
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
  absl::Status TakeStaging(uint64_t upload_bytes, uint64_t readback_bytes, bool may_wait,
                           SubmissionMemory& memory);
  // A buffer of the device's memory. A device that is lost in the meantime keeps its memory, which
  // does not look like a shortage.
  absl::StatusOr<BufferPool<Buffer>::Lease> TakeBuffer(uint64_t bytes);
  // Memory for so many bytes of inputs and to read back, buffers of so many for results, a word for
  // kernels that leave elements open, and what copies there is room for.
  absl::StatusOr<SubmissionMemory> TakeMemory(uint64_t input_bytes, uint64_t readback_bytes,
                                              std::span<const uint64_t> result_buffers,
                                              bool leaves_open, bool may_wait,
                                              ContentTransfers<Buffer> transfers);
  // The same for `calls`, with the inputs that are to be uploaded. Where copies that they read take
  // what their other memory lacks, they do without.
  template <class Layout, class Calls>
  absl::StatusOr<SubmissionMemory> TakeInputs(const Layout& layout, const Calls& calls,
                                              uint64_t readback_bytes,
                                              std::span<const uint64_t> result_buffers,
                                              bool may_wait = true, bool reads_copies = true);
  // Memory for calls whose kernels work on what the host fills and reads, with their inputs.
  absl::StatusOr<SubmissionMemory> TakeDirect(const BatchLayout& layout,
                                              std::span<const DeviceCall> calls, bool may_wait);
  // Brings the inputs of `calls` to the memory of their submission.
  template <class Layout, class Calls>
  void Fill(const Layout& layout, const Calls& calls, SubmissionMemory& memory);
  // What is submitted and not waited for.
  struct UnderWay {
    PendingWork pending;
    std::chrono::steady_clock::time_point begin;
    Serial serial{};
  };
  // Submits what `record` writes. `bytes`: of all tensors; `work`: of all kernels. `memory` is kept
  // for ever where the device may still use it.
  absl::StatusOr<UnderWay> Submit(uint64_t bytes, std::span<const KernelWork> work,
                                  SubmissionMemory& memory,
                                  absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // Waits for what was submitted, and learns from it what kernels cost. Returns what was read back,
  // which lies in `memory`, once it is certain that it is this submission's; OUT_OF_RANGE where a
  // kernel left an element open. `memory` is kept for ever where the device may still use it, or
  // did not do what it said.
  absl::StatusOr<const std::byte*> Await(const UnderWay& submitted,
                                         std::span<const KernelWork> work,
                                         SubmissionMemory& memory);
  // Both.
  absl::StatusOr<const std::byte*> Execute(
      uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
      absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // Takes what is pending out of what is under way.
  void NoteEnd(const PendingWork& pending);
  // Why something failed. Keeps `memory` for ever where the device may still use it.
  absl::Status Failed(const absl::Status& why, SubmissionMemory& memory);
  // The most bytes that a buffer may have: one of the pool may be a quarter larger than what it was
  // asked for.
  uint64_t MaxBufferBytes() const { return device->adapter().max_buffer_bytes / 5 * 4; }
  absl::Status RunSequence(const SequenceCall& call);
  absl::Status Run(std::span<const DeviceCall> calls);
  absl::Status RunParts(const BatchParts& parts, TransferWay by);
  // Runs `calls` both ways, and chooses the faster one for those that follow.
  absl::Status MeasureWays(std::span<const DeviceCall> calls, const BatchParts& parts);
  absl::Status Read(ContentId content, std::span<std::byte> to);
  // Returns `status` of a function of the device; marks the device lost where it says so.
  absl::Status Noting(const absl::Status& status);
  // Declares the device lost, and has all who wait for it notice.
  void MarkLost(const absl::Status& reason);

  class BatchRun;

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
  HostCopier copier{CopyThreadsFor(std::thread::hardware_concurrency())};
  StampNumbers stamp_numbers;
  KernelCosts costs;
  // Of all batches that are submitted and not waited for: bytes of their buffers, and nanoseconds
  // that their kernels are expected to take.
  std::atomic<uint64_t> bytes_under_way = 0;
  std::atomic<int64_t> expected_under_way = 0;
  BusyTime busy_time;
  // How bytes get to kernels and back, and whether that is decided.
  std::atomic<TransferWay> way = GivenWay(*device, options).value_or(TransferWay::kCopies);
  std::atomic<bool> is_way_chosen = GivenWay(*device, options).has_value();
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
                                            bool may_wait, SubmissionMemory& memory) {
  memory.stamp = SubmissionStamp(stamp_numbers.Next(), upload_bytes, readback_bytes);
  const std::chrono::nanoseconds limit = may_wait ? TimeLimit() : std::chrono::nanoseconds(0);
  const auto failed = [this](const absl::Status& why) {
    absl::Status status = device->status();
    return status.ok() ? why : status;
  };
  // Only the rings wait, and always in this order, so that no two threads wait for each other.
  absl::StatusOr<StagingRing::Lease> staging = upload->Acquire(memory.stamp.upload_bytes(), limit);
  if (!staging.ok()) return failed(staging.status());
  memory.upload = *std::move(staging);
  staging = readback->Acquire(memory.stamp.readback_bytes(), limit);
  if (!staging.ok()) return failed(staging.status());
  memory.readback = *std::move(staging);
  memory.stamp.Prepare(memory.upload.data(), memory.readback.data());
  return absl::OkStatus();
}

absl::StatusOr<BufferPool<Buffer>::Lease> D3D12Device::Impl::TakeBuffer(uint64_t bytes) {
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = contents.Acquire(bytes);
  if (buffer.ok()) return buffer;
  OPSERVE_RETURN_IF_ERROR(device->status());
  return buffer;
}

absl::StatusOr<SubmissionMemory> D3D12Device::Impl::TakeMemory(
    uint64_t input_bytes, uint64_t readback_bytes, std::span<const uint64_t> result_buffers,
    bool leaves_open, bool may_wait, ContentTransfers<Buffer> transfers) {
  UpdateBudget();
  SubmissionMemory memory{.contents = std::move(transfers)};
  memory.uploads = memory.contents.Uploads(input_bytes);
  const uint64_t upload_bytes = memory.uploads.empty() ? 1 : memory.uploads.back().end;
  OPSERVE_RETURN_IF_ERROR(TakeStaging(upload_bytes, readback_bytes, may_wait, memory));
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = TakeBuffer(input_bytes);
  if (!buffer.ok()) return buffer.status();
  memory.inputs = *std::move(buffer);
  for (const uint64_t bytes : result_buffers) {
    buffer = TakeBuffer(bytes);
    if (!buffer.ok()) return buffer.status();
    memory.outputs.push_back(*std::move(buffer));
  }
  if (leaves_open) {
    buffer = TakeBuffer(SubmissionStamp::kMarkBytes);
    if (!buffer.ok()) return buffer.status();
    memory.open = *std::move(buffer);
  }
  memory.contents.TakeRoom();
  return memory;
}

template <class Layout, class Calls>
absl::StatusOr<SubmissionMemory> D3D12Device::Impl::TakeInputs(
    const Layout& layout, const Calls& calls, uint64_t readback_bytes,
    std::span<const uint64_t> result_buffers, bool may_wait, bool reads_copies) {
  ContentTransfers<Buffer> transfers(contents, reads_copies);
  const auto uploads = AddContents(layout, calls, transfers);
  const bool has_copies = !transfers.kept_inputs().empty();
  absl::StatusOr<SubmissionMemory> memory =
      TakeMemory(layout.input_buffer_bytes, readback_bytes, result_buffers, LeavesOpen(layout),
                 may_wait, std::move(transfers));
  if (has_copies && absl::IsResourceExhausted(memory.status())) {
    return TakeInputs(layout, calls, readback_bytes, result_buffers, may_wait,
                      /*reads_copies=*/false);
  }
  if (memory.ok()) Fill(layout, uploads, *memory);
  return memory;
}

template <class Layout, class Calls>
void D3D12Device::Impl::Fill(const Layout& layout, const Calls& calls, SubmissionMemory& memory) {
  HostCopies copies;
  WriteInputs(layout, calls, memory.upload.data(), copies);
  copier.Run(copies);
}

absl::StatusOr<SubmissionMemory> D3D12Device::Impl::TakeDirect(const BatchLayout& layout,
                                                               std::span<const DeviceCall> calls,
                                                               bool may_wait) {
  UpdateBudget();
  SubmissionMemory memory{.contents = ContentTransfers<Buffer>(contents)};
  memory.uploads = {{0, layout.input_buffer_bytes}};
  OPSERVE_RETURN_IF_ERROR(
      TakeStaging(layout.input_buffer_bytes, layout.output_buffer_bytes, may_wait, memory));
  if (LeavesOpen(layout)) {
    absl::StatusOr<BufferPool<Buffer>::Lease> buffer = TakeBuffer(SubmissionStamp::kMarkBytes);
    if (!buffer.ok()) return buffer.status();
    memory.open = *std::move(buffer);
  }
  Fill(layout, calls, memory);
  return memory;
}

void D3D12Device::Impl::NoteEnd(const PendingWork& pending) {
  bytes_under_way -= pending.bytes;
  expected_under_way -= pending.expected.count();
}

absl::Status D3D12Device::Impl::Failed(const absl::Status& why, SubmissionMemory& memory) {
  if (!absl::IsUnavailable(why)) return why;
  MutexLock lock(mutex);
  abandoned.push_back(std::move(memory));
  return why;
}

absl::StatusOr<D3D12Device::Impl::UnderWay> D3D12Device::Impl::Submit(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  UnderWay submitted{{bytes, costs.Estimate(work)}, options.now()};
  bytes_under_way += bytes;
  expected_under_way += submitted.pending.expected.count();
  const auto record_all = [&](ID3D12GraphicsCommandList& list) {
    record(list);
    RecordStamp(list, memory);
  };
  const absl::StatusOr<Serial> serial = queue->Submit(record_all, TimeLimit());
  if (serial.ok()) {
    submitted.serial = *serial;
    return submitted;
  }
  NoteEnd(submitted.pending);
  if (!absl::IsDeadlineExceeded(serial.status())) return Failed(serial.status(), memory);
  return Failed(LostBecause(serial.status()), memory);
}

absl::StatusOr<const std::byte*> D3D12Device::Impl::Await(const UnderWay& submitted,
                                                          std::span<const KernelWork> work,
                                                          SubmissionMemory& memory) {
  absl::Status status = queue->timeline().Wait(submitted.serial, TimeLimit());
  NoteEnd(submitted.pending);
  const auto took = busy_time.Note(submitted.begin, options.now());
  if (status.ok() && !memory.stamp.HasArrived(memory.readback.data())) {
    status = absl::DataLossError(
        absl::StrCat("It says that submission ", static_cast<uint64_t>(submitted.serial),
                     " is done, but has not carried it out: its stamp was not copied."));
  }
  if (!status.ok()) return Failed(LostBecause(status), memory);
  costs.Observe(work, took);
  if (memory.stamp.IsMarked(memory.readback.data())) {
    return absl::OutOfRangeError("Elements are left open, which more digits have to decide.");
  }
  memory.contents.Keep();
  for (const ByteRange& range : memory.uploads) uploaded_bytes += range.bytes();
  kept_inputs += memory.contents.kept_inputs().size();
  return memory.readback.data();
}

absl::StatusOr<const std::byte*> D3D12Device::Impl::Execute(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const absl::StatusOr<UnderWay> submitted = Submit(bytes, work, memory, record);
  if (!submitted.ok()) return submitted.status();
  return Await(*submitted, work, memory);
}

KernelWork D3D12Device::Impl::Bound(const hlsl::KernelKey& kernel, Dispatch& dispatch) const {
  KernelWork work{{kernel, dispatch.loop_count}};
  dispatch.most_blocks = costs.BlocksWithin(work.variant, options.longest_dispatch);
  for (const DispatchPiece& piece : PiecesOf(kernel, dispatch)) {
    work.blocks += piece.computed_blocks;
  }
  return work;
}

// A batch in its parts, of which some are under way.
class D3D12Device::Impl::BatchRun final : public PartRunner {
 public:
  BatchRun(Impl& impl, const BatchParts& parts, TransferWay by)
      : impl_(impl), parts_(parts), by_(by) {
    under_way_.reserve(kMostPartsUnderWay);
  }
  // Where something was thrown: nothing is given back that the device still uses.
  ~BatchRun() {
    for (Part& part : under_way_) {
      impl_.Await(part.submitted, part.work, part.memory).status().IgnoreError();
    }
  }

  absl::Status Begin(size_t part, bool may_wait) override;
  absl::Status End() override;

 private:
  struct Part {
    std::span<const DeviceCall> calls;
    BatchLayout layout;
    std::vector<KernelWork> work;
    SubmissionMemory memory;
    // Per call, whether the device alone has its result.
    std::vector<bool> stays = {};
    UnderWay submitted = {};
  };

  Impl& impl_;
  const BatchParts& parts_;
  const TransferWay by_;
  // Oldest first.
  std::vector<Part> under_way_;
};

absl::Status D3D12Device::Impl::BatchRun::Begin(size_t number, bool may_wait) {
  const std::span<const DeviceCall> calls = parts_[number];
  absl::StatusOr<BatchLayout> layout = LayOut(calls, impl_.MaxBufferBytes());
  if (!layout.ok()) return layout.status();
  const absl::StatusOr<Pipeline> pipeline = impl_.PipelineOf(layout->kernel);
  if (!pipeline.ok()) return pipeline.status();
  std::vector<KernelWork> work;
  for (Dispatch& dispatch : layout->dispatches) {
    work.push_back(impl_.Bound(layout->kernel, dispatch));
  }
  const bool is_direct = by_ == TransferWay::kDirect && parts_.knows_no_contents() &&
                         layout->kernel.layout == hlsl::LayoutClass::kPacked;
  absl::StatusOr<SubmissionMemory> memory =
      is_direct ? impl_.TakeDirect(*layout, calls, may_wait)
                : impl_.TakeInputs(*layout, calls, layout->result_bytes,
                                   {&layout->output_buffer_bytes, 1}, may_wait);
  if (!memory.ok()) return memory.status();
  memory->readbacks = ReadbacksOf(*layout, calls, memory->contents);
  Part part{calls, *std::move(layout), std::move(work), *std::move(memory)};
  for (const DeviceCall& call : calls) part.stays.push_back(Stays(call, part.memory.contents));
  const absl::StatusOr<UnderWay> submitted = impl_.Submit(
      part.layout.input_buffer_bytes + part.layout.output_buffer_bytes, part.work, part.memory,
      [&](ID3D12GraphicsCommandList& list) {
        (is_direct ? RecordDirectBatch : RecordBatch)(list, impl_.device->root_signature(),
                                                      *(*pipeline).Get(), part.layout, part.memory);
      });
  if (!submitted.ok()) return submitted.status();
  part.submitted = *submitted;
  under_way_.push_back(std::move(part));
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::BatchRun::End() {
  Part& oldest = under_way_.front();
  const absl::StatusOr<const std::byte*> results =
      impl_.Await(oldest.submitted, oldest.work, oldest.memory);
  const Part part = std::move(oldest);
  under_way_.erase(under_way_.begin());
  if (!results.ok()) return results.status();
  HostCopies copies;
  for (size_t i = 0; i < part.calls.size(); ++i) {
    if (part.stays[i]) {
      *part.calls[i].content.stays = true;
      ++impl_.kept_results;
    } else {
      WriteResult(part.layout.places[i], part.calls[i], *results, copies);
    }
  }
  impl_.copier.Run(copies);
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::RunParts(const BatchParts& parts, TransferWay by) {
  BatchRun run(*this, parts, by);
  return RunOverlapped(parts.size(), run);
}

absl::Status D3D12Device::Impl::MeasureWays(std::span<const DeviceCall> calls,
                                            const BatchParts& parts) {
  TransferTrial trial;
  for (int run = 0; run <= kMeasuredRuns; ++run) {
    const auto start = options.now();
    OPSERVE_RETURN_IF_ERROR(RunParts(parts, TransferWay::kDirect));
    const auto middle = options.now();
    const size_t direct = run == 0 ? HashOf(calls) : 0;
    const auto resumed = options.now();
    // The last ones, so that the results are theirs where they differ.
    OPSERVE_RETURN_IF_ERROR(RunParts(parts, TransferWay::kCopies));
    const auto end = options.now();
    if (run == 0) {
      trial.agrees = direct == HashOf(calls);
      continue;
    }
    trial.direct = std::min<std::chrono::nanoseconds>(trial.direct, middle - start);
    trial.copies = std::min<std::chrono::nanoseconds>(trial.copies, end - resumed);
  }
  way = ChosenWay(trial);
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::Run(std::span<const DeviceCall> calls) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  if (calls[0].sequence != nullptr) return RunSequence(*calls[0].sequence);
  const BatchParts parts(calls);
  if (parts.size() == 1 || is_way_chosen.exchange(true)) return RunParts(parts, way);
  absl::Status status = MeasureWays(calls, parts);
  // Another one may tell more.
  if (!status.ok()) is_way_chosen = false;
  return status;
}

absl::Status D3D12Device::Impl::Read(ContentId content, std::span<std::byte> to) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  SubmissionMemory memory{.contents = ContentTransfers<Buffer>(contents)};
  memory.read = contents.Find(content, to.size());
  if (memory.read == nullptr) {
    return absl::NotFoundError(absl::StrCat("The device keeps no content ", content, "."));
  }
  OPSERVE_RETURN_IF_ERROR(TakeStaging(1, to.size(), /*may_wait=*/true, memory));
  const absl::StatusOr<const std::byte*> bytes = Execute(
      to.size(), {}, memory,
      [&](ID3D12GraphicsCommandList& list) { RecordRead(list, *memory.read, to.size(), memory); });
  if (!bytes.ok()) return bytes.status();
  const HostCopy copy{to.data(), *bytes, to.size()};
  copier.Run({&copy, 1});
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
  HostCopies copies;
  WriteResults(*layout, call, *results, copies);
  copier.Run(copies);
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
