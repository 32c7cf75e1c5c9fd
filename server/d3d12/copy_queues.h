// File: server/d3d12/copy_queues.h
//
// Copies up and copies down in queues of their own, beside the one of kernels, so that a bus that
// carries both ways at once does. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_COPY_QUEUES_H_
#define OPSERVE_SERVER_D3D12_COPY_QUEUES_H_

#include <chrono>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/device.h"
#include "server/d3d12/queue.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/timeline.h"

namespace opserve::d3d12 {

// What is done one after the other, each in its queue; the first and the last are copies alone.
struct RelayedWork {
  absl::FunctionRef<void(ID3D12GraphicsCommandList&)> up;
  absl::FunctionRef<void(ID3D12GraphicsCommandList&)> kernels;
  absl::FunctionRef<void(ID3D12GraphicsCommandList&)> down;
};

// Of one device. Thread-safe.
class CopyQueues {
 public:
  // `device` must outlive them, and so must `kernels`, its queue for those.
  static absl::StatusOr<std::unique_ptr<CopyQueues>> Create(const Device& device, Queue& kernels);

  // Submits `work`. It is done when the queue down() has completed the serial. Errors are those of
  // Queue::Submit; where it is another one than UNAVAILABLE or DEADLINE_EXCEEDED, the device does
  // nothing of the work any more.
  absl::StatusOr<Serial> Submit(const RelayedWork& work, std::chrono::nanoseconds timeout);

  Queue& up() { return *up_; }
  Queue& down() { return *down_; }

 private:
  explicit CopyQueues(Queue& kernels) : kernels_(kernels) {}

  Queue& kernels_;
  std::unique_ptr<Queue> up_;
  std::unique_ptr<Queue> down_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_COPY_QUEUES_H_
