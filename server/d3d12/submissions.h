// File: server/d3d12/submissions.h
//
// What a device is given to do: the memory of each submission, its way to the queue, and what is
// certain once it has ended. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_SUBMISSIONS_H_
#define OPSERVE_SERVER_D3D12_SUBMISSIONS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/base/mutex.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/content_cache.h"
#include "server/d3d12/content_transfers.h"
#include "server/d3d12/copy_queues.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/host_copier.h"
#include "server/d3d12/host_copy.h"
#include "server/d3d12/kernel_costs.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/recording.h"
#include "server/d3d12/sequence_layout.h"
#include "server/d3d12/staging_ring.h"
#include "server/d3d12/submission_stamp.h"
#include "server/device/busy_time.h"

namespace opserve::d3d12 {

// What is submitted and not waited for.
struct UnderWay {
  PendingWork pending;
  std::chrono::steady_clock::time_point begin;
  // Done when the queue has completed the serial.
  Queue* queue = nullptr;
  Serial serial{};
};

// Of one device. Thread-safe.
class Submissions {
 public:
  // `device` must outlive them. They declare it lost where nothing says any more what it does.
  static absl::StatusOr<std::unique_ptr<Submissions>> Create(Device& device,
                                                             const DeviceOptions& options);
  Submissions(const Submissions&) = delete;
  Submissions& operator=(const Submissions&) = delete;

  // Makes queues for copies. Before anything is submitted; fails where the device has none.
  absl::Status MakeCopyQueues();
  bool has_copy_queues() const { return copy_queues_ != nullptr; }

  // Memory for calls, with the inputs that are to be uploaded, a word for kernels that leave
  // elements open, and what copies there is room for. RESOURCE_EXHAUSTED where there is none; only
  // who `may_wait` waits for staging memory that others have.
  absl::StatusOr<SubmissionMemory> TakeInputs(const BatchLayout& layout,
                                              std::span<const DeviceCall> calls, bool may_wait);
  absl::StatusOr<SubmissionMemory> TakeInputs(const SequenceLayout& layout, const DeviceCall& of,
                                              bool may_wait);
  // The same for calls whose kernels work on what the host fills and reads.
  absl::StatusOr<SubmissionMemory> TakeDirect(const BatchLayout& layout,
                                              std::span<const DeviceCall> calls, bool may_wait);
  // The same for calls that are copied by queues for that.
  absl::StatusOr<SubmissionMemory> TakeRelayed(const BatchLayout& layout,
                                               std::span<const DeviceCall> calls, bool may_wait);
  // Memory to read the first `bytes` bytes of a content. NOT_FOUND where the device keeps no copy
  // of so many.
  absl::StatusOr<SubmissionMemory> TakeRead(ContentId content, uint64_t bytes);

  // Submits what `record` writes. `bytes`: of all tensors; `work`: of all kernels. `memory` is kept
  // for ever where the device may still use it.
  absl::StatusOr<UnderWay> Submit(uint64_t bytes, std::span<const KernelWork> work,
                                  SubmissionMemory& memory,
                                  absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // The same by the queues for copies, whose lists it writes itself, and `record` that of kernels.
  absl::StatusOr<UnderWay> SubmitRelayed(
      uint64_t bytes, std::span<const KernelWork> work, SubmissionMemory& memory,
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

  // Copies of the host, by several threads where there is much to copy.
  void Copy(std::span<const HostCopy> copies) { copier_.Run(copies); }

  // As ComputeDevice::Release.
  void Release(ContentId content, bool is_of_use) {
    contents_.Release(content);
    if (!is_of_use) contents_.Drop(content);
  }

  // Declares the device lost, and ends all waits for memory, now and later: that of a lost device
  // will not come back.
  void MarkLost(const absl::Status& reason);
  // Waits, within the time limit, until all that was submitted has ended. False where nothing says
  // that it has.
  bool WaitForAll();

  const KernelCosts& costs() const { return costs_; }
  // How much of the device's memory is taken, and how much may be.
  uint64_t taken_bytes() const { return buffers_.total_bytes(); }
  uint64_t budget() const { return buffers_.budget(); }
  // What the copies of contents take, and how many went to make room.
  uint64_t kept_bytes() const { return contents_.bytes(); }
  uint64_t evictions() const { return contents_.evictions(); }
  // Since the device was made; as TransferCounters tells them.
  uint64_t uploaded_bytes() const { return uploaded_bytes_; }
  uint64_t kept_inputs() const { return kept_inputs_; }

 private:
  Submissions(Device& device, const DeviceOptions& options);

  // How long what is submitted now may take, with what is under way before it.
  std::chrono::nanoseconds TimeLimit() const;
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
  absl::StatusOr<SubmissionMemory> TakeAndFill(const Layout& layout, const Calls& calls,
                                               uint64_t readback_bytes,
                                               std::span<const uint64_t> result_buffers,
                                               bool may_wait, bool reads_copies = true);
  // Staging memory that is laid out as the buffers of `layout` are, and the word for kernels that
  // leave elements open.
  absl::StatusOr<SubmissionMemory> TakeMirrored(const BatchLayout& layout, bool may_wait);
  // Brings the inputs of `calls` to the memory of their submission.
  template <class Layout, class Calls>
  void Fill(const Layout& layout, const Calls& calls, SubmissionMemory& memory);
  // Has `submit` submit to `queue`, and counts it to what is under way.
  absl::StatusOr<UnderWay> Track(uint64_t bytes, std::span<const KernelWork> work,
                                 SubmissionMemory& memory, Queue& queue,
                                 absl::FunctionRef<absl::StatusOr<Serial>()> submit);
  // Ends all waits for memory.
  void Close();
  // Takes what is pending out of what is under way.
  void NoteEnd(const PendingWork& pending);
  // Why something failed. Where the device is lost, all who wait for it notice, and `memory`, which
  // it may still use, is kept for ever.
  absl::Status Failed(const absl::Status& why, SubmissionMemory& memory);

  Device& device_;
  const DeviceOptions options_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<CopyQueues> copy_queues_;  // nullptr: there are none
  std::unique_ptr<StagingRing> upload_;
  std::unique_ptr<StagingRing> readback_;
  BufferPool<Buffer> buffers_;
  ContentCache<Buffer> contents_;
  HostCopier copier_{CopyThreadsFor(std::thread::hardware_concurrency())};
  StampNumbers stamp_numbers_;
  KernelCosts costs_;
  // Of all that is submitted and not waited for: bytes of its buffers, and nanoseconds that its
  // kernels are expected to take.
  std::atomic<uint64_t> bytes_under_way_ = 0;
  std::atomic<int64_t> expected_under_way_ = 0;
  BusyTime busy_time_;
  // When the driver is to be asked for its memory again.
  std::atomic<std::chrono::steady_clock::time_point> next_report_;
  std::atomic<uint64_t> uploaded_bytes_ = 0;
  std::atomic<uint64_t> kept_inputs_ = 0;
  Mutex mutex_;
  std::vector<SubmissionMemory> abandoned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SUBMISSIONS_H_
