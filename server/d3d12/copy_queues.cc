#include "server/d3d12/copy_queues.h"

#include <utility>

namespace opserve::d3d12 {
namespace {

// Returns `why` what should have followed `serial` was not submitted, once what was submitted with
// it has ended, and nothing uses its memory any more.
absl::Status AfterEnd(Queue& queue, Serial serial, const absl::Status& why,
                      std::chrono::nanoseconds timeout) {
  if (absl::IsUnavailable(why) || absl::IsDeadlineExceeded(why)) return why;
  const absl::Status ended = queue.timeline().Wait(serial, timeout);
  return ended.ok() ? why : LostBecause(ended);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CopyQueues>> CopyQueues::Create(const Device& device,
                                                               Queue& kernels) {
  std::unique_ptr<CopyQueues> made(new CopyQueues(kernels));
  // Two of one type may share an engine, and do with libvkd3d 1.2, which has one queue per type. So
  // all three are of different types.
  for (auto [queue, type] : {std::pair(&made->up_, D3D12_COMMAND_LIST_TYPE_COPY),
                             std::pair(&made->down_, D3D12_COMMAND_LIST_TYPE_DIRECT)}) {
    absl::StatusOr<std::unique_ptr<Queue>> created = Queue::Create(device, type);
    if (!created.ok()) return created.status();
    *queue = *std::move(created);
  }
  return made;
}

absl::StatusOr<Serial> CopyQueues::Submit(const RelayedWork& work,
                                          std::chrono::nanoseconds timeout) {
  // All before any of them is submitted: where there is no memory to write one, nothing is to be
  // given back that the device uses already.
  absl::StatusOr<Queue::WrittenList> up = up_->Write(work.up, timeout);
  if (!up.ok()) return up.status();
  absl::StatusOr<Queue::WrittenList> kernels = kernels_.Write(work.kernels, timeout);
  if (!kernels.ok()) return kernels.status();
  absl::StatusOr<Queue::WrittenList> down = down_->Write(work.down, timeout);
  if (!down.ok()) return down.status();
  const absl::StatusOr<Serial> copied = up_->Submit(*up, &kernels_);
  if (!copied.ok()) return copied.status();
  const absl::StatusOr<Serial> computed = kernels_.Submit(*kernels, down_.get());
  if (!computed.ok()) return AfterEnd(*up_, *copied, computed.status(), timeout);
  absl::StatusOr<Serial> done = down_->Submit(*down);
  if (!done.ok()) return AfterEnd(kernels_, *computed, done.status(), timeout);
  return done;
}

}  // namespace opserve::d3d12
