#include "server/d3d12/submissions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "kernels/hlsl/expressions.h"
#include "server/d3d12/memory_budget.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

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

// What the driver allows now.
uint64_t BudgetOf(const Device& device, uint64_t own_bytes, uint64_t cap) {
  return MemoryBudgetOf({.adapter_bytes = device.adapter().memory_bytes,
                         .is_shared = device.shares_memory(),
                         .report = device.memory(),
                         .own_bytes = own_bytes},
                        cap);
}

}  // namespace

Submissions::Submissions(Device& device, const DeviceOptions& options)
    : device_(device),
      options_(options),
      buffers_(
          BudgetOf(device, 0, options.memory_budget),
          [&device](uint64_t bytes) { return device.CreateBuffer(BufferKind::kDefault, bytes); }),
      contents_(buffers_),
      next_report_(options.now() + options.memory_interval) {}

absl::StatusOr<std::unique_ptr<Submissions>> Submissions::Create(Device& device,
                                                                 const DeviceOptions& options) {
  std::unique_ptr<Submissions> made(new Submissions(device, options));
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(device);
  if (!queue.ok()) return queue.status();
  made->queue_ = *std::move(queue);
  for (auto [ring, kind] : {std::pair(&made->upload_, BufferKind::kUpload),
                            std::pair(&made->readback_, BufferKind::kReadback)}) {
    absl::StatusOr<std::unique_ptr<StagingRing>> created =
        StagingRing::Create(device, kind, options.staging_bytes, made->buffers_.budget());
    if (!created.ok()) return created.status();
    *ring = *std::move(created);
  }
  return made;
}

absl::Status Submissions::MakeCopyQueues() {
  absl::StatusOr<std::unique_ptr<CopyQueues>> queues = CopyQueues::Create(device_, *queue_);
  if (!queues.ok()) return queues.status();
  copy_queues_ = *std::move(queues);
  return absl::OkStatus();
}

std::chrono::nanoseconds Submissions::TimeLimit() const {
  return HangLimit(options_.timeout, device_.adapter().is_software,
                   {bytes_under_way_, std::chrono::nanoseconds(expected_under_way_)});
}

void Submissions::UpdateBudget() {
  const auto now = options_.now();
  const auto next = now + options_.memory_interval;
  auto due = next_report_.load();
  // One thread asks; the others do with what was said before.
  if (now < due || !next_report_.compare_exchange_strong(due, next)) return;
  contents_.SetBudget(BudgetOf(device_, buffers_.total_bytes(), options_.memory_budget));
}

absl::Status Submissions::TakeStaging(uint64_t upload_bytes, uint64_t readback_bytes, bool may_wait,
                                      SubmissionMemory& memory) {
  memory.stamp = SubmissionStamp(stamp_numbers_.Next(), upload_bytes, readback_bytes);
  const std::chrono::nanoseconds limit = may_wait ? TimeLimit() : std::chrono::nanoseconds(0);
  const auto failed = [this](const absl::Status& why) {
    absl::Status status = device_.status();
    return status.ok() ? why : status;
  };
  // Only the rings wait, and always in this order, so that no two threads wait for each other.
  absl::StatusOr<StagingRing::Lease> staging = upload_->Acquire(memory.stamp.upload_bytes(), limit);
  if (!staging.ok()) return failed(staging.status());
  memory.upload = *std::move(staging);
  staging = readback_->Acquire(memory.stamp.readback_bytes(), limit);
  if (!staging.ok()) return failed(staging.status());
  memory.readback = *std::move(staging);
  memory.stamp.Prepare(memory.upload.data(), memory.readback.data());
  return absl::OkStatus();
}

absl::StatusOr<BufferPool<Buffer>::Lease> Submissions::TakeBuffer(uint64_t bytes) {
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = contents_.Acquire(bytes);
  if (buffer.ok()) return buffer;
  OPSERVE_RETURN_IF_ERROR(device_.status());
  return buffer;
}

absl::StatusOr<SubmissionMemory> Submissions::TakeMemory(uint64_t input_bytes,
                                                         uint64_t readback_bytes,
                                                         std::span<const uint64_t> result_buffers,
                                                         bool leaves_open, bool may_wait,
                                                         ContentTransfers<Buffer> transfers) {
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
absl::StatusOr<SubmissionMemory> Submissions::TakeAndFill(const Layout& layout, const Calls& calls,
                                                          uint64_t readback_bytes,
                                                          std::span<const uint64_t> result_buffers,
                                                          bool may_wait, bool reads_copies) {
  ContentTransfers<Buffer> transfers(contents_, reads_copies);
  const auto uploads = AddContents(layout, calls, transfers);
  const bool has_copies = !transfers.kept_inputs().empty();
  absl::StatusOr<SubmissionMemory> memory =
      TakeMemory(layout.input_buffer_bytes, readback_bytes, result_buffers, LeavesOpen(layout),
                 may_wait, std::move(transfers));
  if (has_copies && absl::IsResourceExhausted(memory.status())) {
    return TakeAndFill(layout, calls, readback_bytes, result_buffers, may_wait,
                       /*reads_copies=*/false);
  }
  if (memory.ok()) Fill(layout, uploads, *memory);
  return memory;
}

template <class Layout, class Calls>
void Submissions::Fill(const Layout& layout, const Calls& calls, SubmissionMemory& memory) {
  HostCopies copies;
  WriteInputs(layout, calls, memory.upload.data(), copies);
  copier_.Run(copies);
}

absl::StatusOr<SubmissionMemory> Submissions::TakeInputs(const BatchLayout& layout,
                                                         std::span<const DeviceCall> calls,
                                                         bool may_wait) {
  return TakeAndFill(layout, calls, layout.result_bytes, {&layout.output_buffer_bytes, 1},
                     may_wait);
}

absl::StatusOr<SubmissionMemory> Submissions::TakeInputs(const SequenceLayout& layout,
                                                         const DeviceCall& of, bool may_wait) {
  return TakeAndFill(layout, of, layout.readback_bytes, layout.result_buffers, may_wait);
}

absl::StatusOr<SubmissionMemory> Submissions::TakeRead(ContentId content, uint64_t bytes) {
  SubmissionMemory memory{.contents = ContentTransfers<Buffer>(contents_)};
  memory.read = contents_.Find(content, bytes);
  if (memory.read == nullptr) {
    return absl::NotFoundError(absl::StrCat("The device keeps no content ", content, "."));
  }
  OPSERVE_RETURN_IF_ERROR(TakeStaging(1, bytes, /*may_wait=*/true, memory));
  return memory;
}

absl::StatusOr<SubmissionMemory> Submissions::TakeMirrored(const BatchLayout& layout,
                                                           bool may_wait) {
  UpdateBudget();
  SubmissionMemory memory{.contents = ContentTransfers<Buffer>(contents_)};
  memory.uploads = {{0, layout.input_buffer_bytes}};
  OPSERVE_RETURN_IF_ERROR(
      TakeStaging(layout.input_buffer_bytes, layout.output_buffer_bytes, may_wait, memory));
  if (LeavesOpen(layout)) {
    absl::StatusOr<BufferPool<Buffer>::Lease> buffer = TakeBuffer(SubmissionStamp::kMarkBytes);
    if (!buffer.ok()) return buffer.status();
    memory.open = *std::move(buffer);
  }
  return memory;
}

absl::StatusOr<SubmissionMemory> Submissions::TakeDirect(const BatchLayout& layout,
                                                         std::span<const DeviceCall> calls,
                                                         bool may_wait) {
  absl::StatusOr<SubmissionMemory> memory = TakeMirrored(layout, may_wait);
  if (memory.ok()) Fill(layout, calls, *memory);
  return memory;
}

absl::StatusOr<SubmissionMemory> Submissions::TakeRelayed(const BatchLayout& layout,
                                                          std::span<const DeviceCall> calls,
                                                          bool may_wait) {
  absl::StatusOr<SubmissionMemory> memory = TakeMirrored(layout, may_wait);
  if (!memory.ok()) return memory;
  // With room for the stamp, which goes the same way.
  absl::StatusOr<BufferPool<Buffer>::Lease> buffer = TakeBuffer(memory->stamp.upload_bytes());
  if (!buffer.ok()) return buffer.status();
  memory->inputs = *std::move(buffer);
  buffer = TakeBuffer(memory->stamp.readback_bytes());
  if (!buffer.ok()) return buffer.status();
  memory->outputs.push_back(*std::move(buffer));
  Fill(layout, calls, *memory);
  return memory;
}

void Submissions::NoteEnd(const PendingWork& pending) {
  bytes_under_way_ -= pending.bytes;
  expected_under_way_ -= pending.expected.count();
}

absl::Status Submissions::Failed(const absl::Status& why, SubmissionMemory& memory) {
  if (!absl::IsUnavailable(why)) return why;
  // Now, and not once the whole batch has ended: nobody is to wait as long again for what comes
  // after it.
  MarkLost(why);
  MutexLock lock(mutex_);
  abandoned_.push_back(std::move(memory));
  return why;
}

absl::StatusOr<UnderWay> Submissions::Track(uint64_t bytes, std::span<const KernelWork> work,
                                            SubmissionMemory& memory, Queue& queue,
                                            absl::FunctionRef<absl::StatusOr<Serial>()> submit) {
  UnderWay submitted{{bytes, costs_.Estimate(work)}, options_.now(), &queue};
  bytes_under_way_ += bytes;
  expected_under_way_ += submitted.pending.expected.count();
  // Also where something is thrown.
  absl::Cleanup refused = [&] { NoteEnd(submitted.pending); };
  const absl::StatusOr<Serial> serial = submit();
  if (serial.ok()) {
    std::move(refused).Cancel();
    submitted.serial = *serial;
    return submitted;
  }
  if (!absl::IsDeadlineExceeded(serial.status())) return Failed(serial.status(), memory);
  return Failed(LostBecause(serial.status()), memory);
}

absl::StatusOr<UnderWay> Submissions::Submit(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const auto record_all = [&](ID3D12GraphicsCommandList& list) {
    record(list);
    RecordStamp(list, memory);
  };
  return Track(bytes, work, memory, *queue_,
               [&] { return queue_->Submit(record_all, TimeLimit()); });
}

absl::StatusOr<UnderWay> Submissions::SubmitRelayed(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const auto up = [&](ID3D12GraphicsCommandList& list) { RecordRelayUp(list, memory); };
  const auto down = [&](ID3D12GraphicsCommandList& list) { RecordRelayDown(list, memory); };
  return Track(bytes, work, memory, copy_queues_->down(), [&] {
    return copy_queues_->Submit({up, record, down}, TimeLimit());
  });
}

absl::StatusOr<const std::byte*> Submissions::Await(const UnderWay& submitted,
                                                    std::span<const KernelWork> work,
                                                    SubmissionMemory& memory) {
  absl::Status status = submitted.queue->timeline().Wait(submitted.serial, TimeLimit());
  NoteEnd(submitted.pending);
  const auto took = busy_time_.Note(submitted.begin, options_.now());
  if (status.ok() && !memory.stamp.HasArrived(memory.readback.data())) {
    status = absl::DataLossError(
        absl::StrCat("It says that submission ", static_cast<uint64_t>(submitted.serial),
                     " is done, but has not carried it out: its stamp was not copied."));
  }
  if (!status.ok()) return Failed(LostBecause(status), memory);
  costs_.Observe(work, took);
  if (memory.stamp.IsMarked(memory.readback.data())) {
    return absl::OutOfRangeError("Elements are left open, which more digits have to decide.");
  }
  memory.contents.Keep();
  for (const ByteRange& range : memory.uploads) uploaded_bytes_ += range.bytes();
  kept_inputs_ += memory.contents.kept_inputs().size();
  return memory.readback.data();
}

absl::StatusOr<const std::byte*> Submissions::Execute(
    uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  const absl::StatusOr<UnderWay> submitted = Submit(bytes, work, memory, record);
  if (!submitted.ok()) return submitted.status();
  return Await(*submitted, work, memory);
}

void Submissions::MarkLost(const absl::Status& reason) {
  device_.MarkLost(reason);
  Close();
}

void Submissions::Close() {
  upload_->Close();
  readback_->Close();
}

bool Submissions::WaitForAll() {
  std::vector<Queue*> queues = {queue_.get()};
  if (has_copy_queues()) queues.insert(queues.end(), {&copy_queues_->up(), &copy_queues_->down()});
  return std::all_of(queues.begin(), queues.end(), [this](Queue* queue) {
    Timeline& timeline = queue->timeline();
    return timeline.Wait(timeline.last(), TimeLimit()).ok();
  });
}

}  // namespace opserve::d3d12
