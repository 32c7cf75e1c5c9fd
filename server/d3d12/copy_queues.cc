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
  const absl::StatusOr<Serial> up = up_->Submit(work.up, timeout, &kernels_);
  if (!up.ok()) return up.status();
  const absl::StatusOr<Serial> computed = kernels_.Submit(work.kernels, timeout, down_.get());
  if (!computed.ok()) return AfterEnd(*up_, *up, computed.status(), timeout);
  absl::StatusOr<Serial> down = down_->Submit(work.down, timeout);
  if (!down.ok()) return AfterEnd(kernels_, *computed, down.status(), timeout);
  return down;
}

}  // namespace opserve::d3d12
