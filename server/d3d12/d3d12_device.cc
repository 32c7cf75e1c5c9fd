#include "server/d3d12/d3d12_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/hlsl/expressions.h"
#include "kernels/op_rows.h"
#include "server/d3d12/batch_parts.h"
#include "server/d3d12/content_transfers.h"
#include "server/d3d12/destroy_when_idle.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/host_copy.h"
#include "server/d3d12/kernel_costs.h"
#include "server/d3d12/overlap.h"
#include "server/d3d12/pipeline_cache.h"
#include "server/d3d12/recording.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/sequence_layout.h"
#include "server/d3d12/sequence_parts.h"
#include "server/d3d12/submissions.h"
#include "server/d3d12/transfer_way.h"

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
        if (!hlsl::HasLayout(op, layout)) continue;
        if (hlsl::FindBlob({op.id, lane, output, mode, layout}) == nullptr) return false;
      }
    }
  }
  return true;
}

// Whether the device alone has a result of `call` once it is computed.
bool Stays(const ResultContent& content, const DeviceCall& call,
           const ContentTransfers<Buffer>& transfers) {
  return content.stays != nullptr && !call.hands_over && transfers.MayStay(content.id);
}

// The same of a call of one operator.
bool Stays(const DeviceCall& call, const ContentTransfers<Buffer>& transfers) {
  return Stays(call.content, call, transfers);
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

absl::Status NoKernel(const hlsl::KernelKey& key, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("There is no GPU kernel for ", TraitsOf(key.op).name,
                                               " of ", NameOf(key.lane), why));
}

// The way of a batch in so many parts, of which one is laid out so, where it is to go `by`: what a
// way is not for is copied.
TransferWay WayOf(TransferWay by, const BatchParts& parts, const BatchLayout& layout) {
  const bool is_packed = layout.kernel.layout == hlsl::LayoutClass::kPacked;
  const bool may_be_direct = parts.knows_no_contents() && is_packed;
  if (by == TransferWay::kDirect && !may_be_direct) return TransferWay::kCopies;
  if (by == TransferWay::kCopyQueues && parts.size() == 1) return TransferWay::kCopies;
  return by;
}

// What writes the list with the kernels of a batch.
auto* RecorderOf(TransferWay way) {
  if (way == TransferWay::kDirect) return &RecordDirectBatch;
  if (way == TransferWay::kCopyQueues) return &RecordRelayBatch;
  return &RecordBatch;
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

}  // namespace

struct D3D12Device::Impl {
  Impl(std::unique_ptr<Device> made, const DeviceOptions& limits, const std::string& feature_level)
      : options(limits),
        device(std::move(made)),
        profile(ProfileOf(device->adapter(), limits.name, feature_level)),
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
  // Bounds the commands of `dispatch` by what its kernel is expected to take. Returns what it
  // computes.
  KernelWork Bound(const hlsl::KernelKey& kernel, Dispatch& dispatch) const;
  // The most bytes that a buffer may have: one of the pool may be a quarter larger than what it was
  // asked for.
  uint64_t MaxBufferBytes() const { return device->adapter().max_buffer_bytes / 5 * 4; }
  absl::Status Run(std::span<const DeviceCall> calls);
  absl::Status RunParts(const BatchParts& parts, TransferWay by);
  // Runs `calls` each way that there is, and chooses the fastest one for those that follow.
  absl::Status MeasureWays(std::span<const DeviceCall> calls, const BatchParts& parts);
  absl::Status Read(ContentId content, std::span<std::byte> to);
  // Returns `status` of a function of the device; marks the device lost where it says so.
  absl::Status Noting(const absl::Status& status);

  template <class Part>
  class PartsUnderWay;
  class BatchRun;
  class SequenceRun;

  const DeviceOptions options;
  const std::unique_ptr<Device> device;
  const DeviceProfile profile;
  std::array<std::array<std::atomic<bool>, kDataTypeCount>, op_rows::kRowCount> support{};
  // By packed code, which several kernels may share.
  std::map<const std::byte*, const hlsl::Blob*> blobs;
  std::unique_ptr<Submissions> submissions;
  PipelineCache<const std::byte*, Pipeline> pipelines;
  // How bytes get to kernels and back, and whether that is decided.
  std::atomic<TransferWay> way = GivenWay(*device, options).value_or(TransferWay::kCopies);
  std::atomic<bool> is_way_chosen = GivenWay(*device, options).has_value();
  // As TransferCounters tells them.
  std::atomic<uint64_t> kept_results = 0;
  std::atomic<uint64_t> read_results = 0;
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

KernelWork D3D12Device::Impl::Bound(const hlsl::KernelKey& kernel, Dispatch& dispatch) const {
  KernelWork work{{kernel, dispatch.loop_count, dispatch.stage}};
  dispatch.most_blocks = submissions->costs().BlocksWithin(work.variant, options.longest_dispatch) /
                         dispatch.cost_per_block;
  for (const DispatchPiece& piece : PiecesOf(kernel, dispatch)) {
    work.blocks += piece.computed_blocks * dispatch.cost_per_block;
  }
  return work;
}

// The parts of a batch or a sequence that are under way. A Part has the `work` and the `memory` of
// one, and how it was `submitted`.
template <class Part>
class D3D12Device::Impl::PartsUnderWay : public PartRunner {
 public:
  explicit PartsUnderWay(Impl& impl) : impl_(impl) { under_way_.reserve(kMostPartsUnderWay); }
  PartsUnderWay(const PartsUnderWay&) = delete;
  PartsUnderWay& operator=(const PartsUnderWay&) = delete;

  absl::Status End() final {
    const absl::StatusOr<const std::byte*> results = Await(under_way_.front());
    const Part part = std::move(under_way_.front());
    under_way_.erase(under_way_.begin());
    if (!results.ok()) return results.status();
    HostCopies copies;
    TakeResults(part, *results, copies);
    impl_.submissions->Copy(copies);
    return absl::OkStatus();
  }

 protected:
  // Where something was thrown: nothing is given back that the device still uses.
  ~PartsUnderWay() {
    for (Part& part : under_way_) Await(part).status().IgnoreError();
  }

  // Has it end after all that have been added. Allocates nothing.
  void Add(Part part, const UnderWay& submitted) {
    part.submitted = submitted;
    under_way_.push_back(std::move(part));
  }

  Impl& impl_;

 private:
  // Brings what was read back to its places, or adds it to `copies`.
  virtual void TakeResults(const Part& part, const std::byte* results, HostCopies& copies) = 0;

  absl::StatusOr<const std::byte*> Await(Part& part) {
    return impl_.submissions->Await(part.submitted, part.work, part.memory);
  }

  // Oldest first.
  std::vector<Part> under_way_;
};

// One part of a batch.
struct BatchPart {
  std::span<const DeviceCall> calls;
  TransferWay way;
  BatchLayout layout;
  std::vector<KernelWork> work;
  SubmissionMemory memory;
  // Per call, whether the device alone has its result.
  std::vector<bool> stays = {};
  UnderWay submitted = {};
};

// A batch in its parts.
class D3D12Device::Impl::BatchRun final : public PartsUnderWay<BatchPart> {
 public:
  BatchRun(Impl& impl, const BatchParts& parts, TransferWay by)
      : PartsUnderWay(impl), parts_(parts), by_(by) {}

  absl::Status Begin(size_t number, bool may_wait) override;

 private:
  absl::StatusOr<SubmissionMemory> Take(TransferWay by, const BatchLayout& layout,
                                        std::span<const DeviceCall> calls, bool may_wait);
  absl::StatusOr<UnderWay> Submit(BatchPart& part, ID3D12PipelineState& pipeline);
  void TakeResults(const BatchPart& part, const std::byte* results, HostCopies& copies) override;

  const BatchParts& parts_;
  const TransferWay by_;
};

absl::StatusOr<SubmissionMemory> D3D12Device::Impl::BatchRun::Take(
    TransferWay by, const BatchLayout& layout, std::span<const DeviceCall> calls, bool may_wait) {
  Submissions& taken_from = *impl_.submissions;
  if (by == TransferWay::kDirect) return taken_from.TakeDirect(layout, calls, may_wait);
  if (by == TransferWay::kCopyQueues) return taken_from.TakeRelayed(layout, calls, may_wait);
  return taken_from.TakeInputs(layout, calls, may_wait);
}

absl::StatusOr<UnderWay> D3D12Device::Impl::BatchRun::Submit(BatchPart& part,
                                                             ID3D12PipelineState& pipeline) {
  const auto record = [&](ID3D12GraphicsCommandList& list) {
    RecorderOf(part.way)(list, impl_.device->root_signature(), pipeline, part.layout, part.memory);
  };
  const uint64_t bytes = part.layout.input_buffer_bytes + part.layout.output_buffer_bytes;
  const auto submit =
      part.way == TransferWay::kCopyQueues ? &Submissions::SubmitRelayed : &Submissions::Submit;
  return (*impl_.submissions.*submit)(bytes, part.work, part.memory, record);
}

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
  const TransferWay by = WayOf(by_, parts_, *layout);
  absl::StatusOr<SubmissionMemory> memory = Take(by, *layout, calls, may_wait);
  if (!memory.ok()) return memory.status();
  memory->readbacks = ReadbacksOf(*layout, calls, memory->contents);
  BatchPart part{calls, by, *std::move(layout), std::move(work), *std::move(memory)};
  for (const DeviceCall& call : calls) part.stays.push_back(Stays(call, part.memory.contents));
  const absl::StatusOr<UnderWay> submitted = Submit(part, *(*pipeline).Get());
  if (!submitted.ok()) return submitted.status();
  Add(std::move(part), *submitted);
  return absl::OkStatus();
}

void D3D12Device::Impl::BatchRun::TakeResults(const BatchPart& part, const std::byte* results,
                                              HostCopies& copies) {
  for (size_t i = 0; i < part.calls.size(); ++i) {
    if (part.stays[i]) {
      *part.calls[i].content.stays = true;
      ++impl_.kept_results;
    } else {
      WriteResult(part.layout.places[i], part.calls[i], results, copies);
    }
  }
}

// One part of a sequence.
struct SequencePart {
  const SequenceCall* call;
  SequenceLayout layout;
  std::vector<KernelWork> work;
  SubmissionMemory memory;
  UnderWay submitted = {};
};

// A sequence in its parts.
class D3D12Device::Impl::SequenceRun final : public PartsUnderWay<SequencePart> {
 public:
  SequenceRun(Impl& impl, const SequenceParts& parts) : PartsUnderWay(impl), parts_(parts) {}

  absl::Status Begin(size_t number, bool may_wait) override;

 private:
  void TakeResults(const SequencePart& part, const std::byte* results, HostCopies& copies) override;

  const SequenceParts& parts_;
};

absl::Status D3D12Device::Impl::SequenceRun::Begin(size_t number, bool may_wait) {
  const DeviceCall& of = parts_[number];
  const SequenceCall& call = *of.sequence;
  if (call.stop != nullptr && *call.stop) {
    return absl::CancelledError("nobody waits for the results");
  }
  absl::StatusOr<SequenceLayout> layout = LayOut(*call.sequence, impl_.MaxBufferBytes());
  if (!layout.ok()) return layout.status();
  std::vector<Pipeline> step_pipelines;
  std::vector<KernelWork> work;
  for (StepLayout& step : layout->steps) {
    absl::StatusOr<Pipeline> pipeline = impl_.PipelineOf(step.kernel);
    if (!pipeline.ok()) return pipeline.status();
    step_pipelines.push_back(*std::move(pipeline));
    for (Dispatch& dispatch : step.dispatches) work.push_back(impl_.Bound(step.kernel, dispatch));
  }
  absl::StatusOr<SubmissionMemory> memory = impl_.submissions->TakeInputs(*layout, of, may_wait);
  if (!memory.ok()) return memory.status();
  for (size_t i = 0; i < call.contents.size(); ++i) {
    layout->outputs[i].stays = Stays(call.contents[i], of, memory->contents);
  }
  SequencePart part{&call, *std::move(layout), std::move(work), *std::move(memory)};
  const auto record = [&](ID3D12GraphicsCommandList& list) {
    RecordSequence(list, impl_.device->root_signature(), step_pipelines, part.layout, part.memory);
  };
  const absl::StatusOr<UnderWay> submitted =
      impl_.submissions->Submit(part.layout.work_bytes, part.work, part.memory, record);
  if (!submitted.ok()) return submitted.status();
  Add(std::move(part), *submitted);
  return absl::OkStatus();
}

void D3D12Device::Impl::SequenceRun::TakeResults(const SequencePart& part, const std::byte* results,
                                                 HostCopies& copies) {
  WriteResults(part.layout, *part.call, results, copies);
  for (size_t i = 0; i < part.call->contents.size(); ++i) {
    if (!part.layout.outputs[i].stays) continue;
    *part.call->contents[i].stays = true;
    ++impl_.kept_results;
  }
}

absl::Status D3D12Device::Impl::RunParts(const BatchParts& parts, TransferWay by) {
  BatchRun run(*this, parts, by);
  return RunOverlapped(parts.size(), run);
}

absl::Status D3D12Device::Impl::MeasureWays(std::span<const DeviceCall> calls,
                                            const BatchParts& parts) {
  std::vector<TransferTrial> trials = {{TransferWay::kCopies}, {TransferWay::kDirect}};
  if (submissions->has_copy_queues()) trials.push_back({TransferWay::kCopyQueues});
  for (int run = 0; run <= kMeasuredRuns; ++run) {
    // Copies are the last ones, so that the results are theirs where they differ.
    for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
      const auto start = options.now();
      OPSERVE_RETURN_IF_ERROR(RunParts(parts, trial->way));
      const std::chrono::nanoseconds took = options.now() - start;
      if (run == 0) {
        trial->results = HashOf(calls);
      } else {
        trial->took = std::min(trial->took, took);
      }
    }
  }
  way = ChosenWay(trials);
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::Run(std::span<const DeviceCall> calls) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  if (calls[0].sequence != nullptr) {
    const SequenceParts parts(calls[0]);
    SequenceRun run(*this, parts);
    return RunOverlapped(parts.size(), run);
  }
  const BatchParts parts(calls);
  if (parts.size() == 1 || is_way_chosen.exchange(true)) return RunParts(parts, way);
  absl::Status status = MeasureWays(calls, parts);
  // Another one may tell more.
  if (!status.ok()) is_way_chosen = false;
  return status;
}

absl::Status D3D12Device::Impl::Read(ContentId content, std::span<std::byte> to) {
  OPSERVE_RETURN_IF_ERROR(device->status());
  absl::StatusOr<SubmissionMemory> memory = submissions->TakeRead(content, to.size());
  if (!memory.ok()) return memory.status();
  const absl::StatusOr<const std::byte*> bytes =
      submissions->Execute(to.size(), {}, *memory, [&](ID3D12GraphicsCommandList& list) {
        RecordRead(list, *memory->read, to.size(), *memory);
      });
  if (!bytes.ok()) return bytes.status();
  const HostCopy copy{to.data(), *bytes, to.size()};
  submissions->Copy({&copy, 1});
  ++read_results;
  return absl::OkStatus();
}

absl::Status D3D12Device::Impl::Noting(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  submissions->MarkLost(status);
  // With what the run time says of it, which a call that failed does not know.
  return device->status();
}

absl::StatusOr<std::unique_ptr<D3D12Device>> D3D12Device::Create(
    std::shared_ptr<const Runtime> runtime, int adapter, const DeviceOptions& options) {
  absl::StatusOr<std::unique_ptr<Device>> device = Device::Create(std::move(runtime), adapter);
  if (!device.ok()) return device.status();
  const absl::StatusOr<std::string> feature_level = FeatureLevelOf((*device)->api());
  if (!feature_level.ok()) return feature_level.status();
  auto impl = std::make_unique<Impl>(*std::move(device), options, *feature_level);
  absl::StatusOr<std::unique_ptr<Submissions>> submissions =
      Submissions::Create(*impl->device, options);
  if (!submissions.ok()) return submissions.status();
  impl->submissions = *std::move(submissions);
  // What is to be measured does without them where the adapter has none.
  if (!impl->is_way_chosen || impl->way == TransferWay::kCopyQueues) {
    const absl::Status made = impl->submissions->MakeCopyQueues();
    if (!made.ok() && impl->is_way_chosen) return made;
  }
  // Making it may have been told by nothing else.
  OPSERVE_RETURN_IF_ERROR(impl->device->status());
  return std::unique_ptr<D3D12Device>(new D3D12Device(std::move(impl)));
}

D3D12Device::D3D12Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

D3D12Device::~D3D12Device() {
  // Of a lost device no serial says what it still uses, and freeing that would be worse than
  // leaking it.
  if (impl_->submissions->WaitForAll()) return;
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

void D3D12Device::Release(ContentId content, bool is_of_use) {
  impl_->submissions->Release(content, is_of_use);
}

TransferCounters D3D12Device::transfers() const {
  const Submissions& submissions = *impl_->submissions;
  return {.budget_bytes = submissions.budget(),
          .kept_bytes = submissions.kept_bytes(),
          .uploaded_bytes = submissions.uploaded_bytes(),
          .kept_inputs = submissions.kept_inputs(),
          .evictions = submissions.evictions(),
          .kept_results = impl_->kept_results,
          .read_results = impl_->read_results};
}

absl::Status D3D12Device::status() const { return impl_->device->status(); }

uint64_t D3D12Device::pooled_bytes() const { return impl_->submissions->taken_bytes(); }

std::chrono::nanoseconds HangLimit(std::chrono::nanoseconds fixed, bool is_software,
                                   const PendingWork& pending) {
  const std::chrono::nanoseconds for_bytes =
      (is_software ? kSoftwareTimePerByte : kTimePerByte) * pending.bytes;
  return fixed + std::max(for_bytes, 4 * pending.expected);
}

}  // namespace opserve::d3d12
