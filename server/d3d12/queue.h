// File: server/d3d12/queue.h
//
// A queue of a device. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_QUEUE_H_
#define OPSERVE_SERVER_D3D12_QUEUE_H_

#include <chrono>
#include <list>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/base/mutex.h"
#include "server/d3d12/device.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/timeline.h"

namespace opserve::d3d12 {

// Thread-safe: threads record at the same time, and submit one after the other.
class Queue {
  // A command list with its memory, free for use once `serial` is completed.
  struct Slot {
    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> list;
    Serial serial{};
  };
  // A slot goes from list to list with its node, which needs no memory: none is lost, and so given
  // back, that the device uses.
  using Slots = std::list<Slot>;

 public:
  // A command list that was written, to be submitted to its queue, at most once. Where it is not,
  // it is dropped.
  class WrittenList {
   private:
    friend class Queue;
    explicit WrittenList(Slots slot) : slot_(std::move(slot)) {}

    Slots slot_;  // one
  };

  // For kernels and copies. Queues of other types run beside it where the device has the means,
  // with D3D12_COMMAND_LIST_TYPE_COPY for copies alone. `device` must outlive the queue.
  static absl::StatusOr<std::unique_ptr<Queue>> Create(
      const Device& device, D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Has `record` write a command list. Waits up to `timeout` where too many submissions are under
  // way. UNAVAILABLE where the device is lost, DEADLINE_EXCEEDED where it hangs, RESOURCE_EXHAUSTED
  // where it has no memory.
  absl::StatusOr<WrittenList> Write(absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record,
                                    std::chrono::nanoseconds timeout);

  // Submits `list`. The serial is completed when the device is done. UNAVAILABLE where the device
  // is lost; RESOURCE_EXHAUSTED where it has no memory for the submission, of which it then does
  // nothing. Of what `next`, where there is one, is given later, it does nothing before this
  // submission is done; it must not be destroyed before that. Needs none of the host's memory but
  // for errors.
  absl::StatusOr<Serial> Submit(WrittenList& list, Queue* next = nullptr);

  // Both.
  absl::StatusOr<Serial> Submit(absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record,
                                std::chrono::nanoseconds timeout);

  Timeline& timeline() { return *timeline_; }

 private:
  Queue(const Device& device, D3D12_COMMAND_LIST_TYPE type) : device_(device), type_(type) {}
  absl::Status Initialize();
  // These return one.
  absl::StatusOr<Slots> CreateSlot() const;
  // A slot that the device is done with, the oldest one or a new one.
  absl::StatusOr<Slots> TakeSlot(std::chrono::nanoseconds timeout);
  absl::Status Record(Slot& slot, absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record);
  // UNAVAILABLE where the device may use the slot for ever; any other error: it does not use it.
  absl::Status Execute(Slot& slot, Queue* next);
  // Has the fence reach the serial of `slot`, and `next` wait for that.
  absl::Status Signal(const Slot& slot, Queue* next);

  const Device& device_;
  const D3D12_COMMAND_LIST_TYPE type_;
  ComPtr<ID3D12CommandQueue> queue_;
  std::unique_ptr<Timeline> timeline_;
  // After the timeline, whose events the fence may set until it is gone.
  ComPtr<ID3D12Fence> fence_;
  // Serials must be signalled in order.
  Mutex submit_mutex_;
  Mutex slots_mutex_;
  // Slots that no thread holds, oldest serial first.
  Slots slots_ ABSL_GUARDED_BY(slots_mutex_);
  // Slots that the device may still use, until it is idle.
  Slots broken_ ABSL_GUARDED_BY(slots_mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_QUEUE_H_
