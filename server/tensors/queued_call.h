// File: server/tensors/queued_call.h
//
// A unary call whose work is done by a TaskThread.

#ifndef OPSERVE_SERVER_TENSORS_QUEUED_CALL_H_
#define OPSERVE_SERVER_TENSORS_QUEUED_CALL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/base/task_thread.h"
#include "server/errors/queue_errors.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Queue and OnCancel belong to the thread of the poller.
class QueuedCall : public CallHandler {
 public:
  explicit QueuedCall(UnaryCall& unary) : call(unary), client(unary.caller().client()) {}

  // Has `thread` do `task`, which handles so many bytes and finishes the call. One host or user
  // takes its turns there, whatever names it gives itself. At most once; both references must
  // outlive the call.
  void Queue(TaskThread& thread, const Clock& clock, uint64_t bytes, std::function<void()> task) {
    thread_ = &thread;
    clock_ = &clock;
    queued_ = clock.Now();
    ticket_ = thread.Start(call.caller().identity(), bytes,
                           [this, guarded = std::move(task)] { call.Guard(guarded); });
  }

  // What has begun is soon done, and nothing changes for it.
  void OnCancel() override {
    if (thread_ == nullptr || !thread_->Cancel(ticket_)) return;
    call.Finish(CancelledError(clock_->Now() - queued_));
  }

  UnaryCall& call;
  const std::string& client;

 private:
  TaskThread* thread_ = nullptr;
  const Clock* clock_ = nullptr;
  Clock::TimePoint queued_;
  TaskThread::Ticket ticket_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_QUEUED_CALL_H_
