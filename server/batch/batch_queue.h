// File: server/batch/batch_queue.h
//
// What waits for one device. Jobs go by priority, then fairly between clients, then by age; the job
// whose turn it is takes others of its lane along, as batch_policy.h decides.

#ifndef OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_
#define OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/batch/batch_policy.h"
#include "server/batch/job.h"
#include "server/clock.h"

namespace opserve {

// Jobs of one lane that run together.
using Batch = std::vector<Job*>;

// Thread-safe. Owns no job: whoever adds one keeps it alive until it is answered. A job that leaves
// the queue by Take or Flush belongs to the caller; one that is dropped inside the queue is refused
// in the thread that notices (DEADLINE_PASSED, REQUEST_CANCELLED), with no lock held.
//
// Fairness is start-time fair queueing: each client has a virtual time that advances by what its
// jobs cost (bytes plus a constant per job), and the client that is least far goes first. A client
// that returns after a pause starts at the present virtual time, so pauses earn nothing.
class BatchQueue {
 public:
  // How full the queue is.
  struct Load {
    size_t pending = 0;
    uint64_t pending_bytes = 0;
    int in_flight = 0;
  };

  // `clock` must outlive the queue.
  BatchQueue(const Clock& clock, const BatchLimits& limits);
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // Adds a job. False after Close, which leaves the job alone.
  bool Enqueue(Job& job);

  // Refuses the job with REQUEST_CANCELLED if it waits here. Returns whether it did.
  bool Cancel(Job& job);

  // Waits until a batch is due and takes it; the caller calls Done once it has run. Empty once the
  // queue is closed and holds nothing.
  Batch Take();

  // The same without waiting: empty if no batch is due. `wake_at`, if given, becomes the time at
  // which one may be due without any further event.
  Batch TryTake(Clock::TimePoint* wake_at = nullptr);

  // A taken batch has been answered or handed on.
  void Done();

  // Takes all that waits, in the order of arrival, for the jobs to run elsewhere. What is in flight
  // is not counted in.
  std::vector<Job*> Flush();

  // Accepts no more jobs; what waits is still taken.
  void Close();

  Load load() const;

 private:
  struct Impl;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_
