// File: server/work_queue.h
//
// The queue between the reactors, which never block, and the worker threads. First in, first out;
// work whose deadline has passed is never started; queued work can be cancelled. The queue is
// bounded by Admission: all its work holds a permit.

#ifndef OPSERVE_SERVER_WORK_QUEUE_H_
#define OPSERVE_SERVER_WORK_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "server/clock.h"
#include "server/mutex.h"

namespace opserve {

// Something to do for an accepted request. Exactly one of the two functions is called, once, with
// no lock held; the queue does not touch the object after that call has started.
class Work {
 public:
  virtual ~Work() = default;

  // Does it. `queued`: how long it waited.
  virtual void Run(Clock::Duration queued) = 0;

  // Gives it up: DEADLINE_PASSED or REQUEST_CANCELLED.
  virtual void Drop(const absl::Status& why) = 0;
};

// Thread-safe. Owns no work: the caller keeps each object alive until Run or Drop is called.
class WorkQueue {
 public:
  // Names queued work; never used twice.
  using Ticket = uint64_t;

  // `clock` must outlive the queue.
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Adds work that is to start before `deadline`. After Close: nullopt, and `work` is left alone.
  std::optional<Ticket> Enqueue(Work& work, Clock::TimePoint deadline);

  // Drops the work of `ticket` in this thread if it is still queued; otherwise does nothing,
  // because the work is being answered already. Returns whether it did.
  bool Cancel(Ticket ticket);

  // Waits for work and runs or drops the first in line in this thread. False, without doing
  // anything, once the queue is closed and empty.
  bool RunNext();

  // Accepts no more work; what is queued still runs.
  void Close();

  // Number of requests that wait.
  size_t size() const;

 private:
  struct Entry {
    Work* work;
    Clock::TimePoint enqueued;
    Clock::TimePoint deadline;
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  // Tickets ascend, so the order of the map is the order of arrival.
  std::map<Ticket, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_WORK_QUEUE_H_
