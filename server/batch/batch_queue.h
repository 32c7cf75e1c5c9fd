// File: server/batch/batch_queue.h
//
// What waits for one device. Jobs go by priority, then fairly between identities, then fairly
// between the names that each gives itself, then by age; the job
// whose turn it is takes others of its lane along, as batch_policy.h decides.

#ifndef OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_
#define OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/batch/batch_policy.h"
#include "server/batch/job.h"
#include "server/batch/pending_jobs.h"

namespace opserve {

// Jobs of one lane that run together.
using Batch = std::vector<Job*>;

// Thread-safe. Owns no job: whoever adds one keeps it alive until it is answered. A job that leaves
// the queue by Take or Flush belongs to the caller; one that is dropped inside the queue is refused
// in the thread that notices (DEADLINE_PASSED, REQUEST_CANCELLED, both with the time since it was
// accepted), with no lock held. Threads in Take notice a deadline when it comes, also while the
// device is busy.
//
// Fairness is start-time fair queueing, for each priority by itself: each client has a virtual time
// that advances by what its jobs cost (bytes plus 16 KiB per job, divided by its weight), and the
// client that is least far goes first. A client that returns after a pause starts at the present
// virtual time, that of the client which is least far of those that wait, so pauses earn nothing;
// or where it was if that is further, so one that sends its jobs one after the other gets no more
// than its share, either. What clients were charged is forgotten once nobody of their class waits.
// Clients of one identity share its turns in the same way: however many names an identity takes,
// all of them together get what one client would.
//
// The rest of a batch is chosen in the same order among the jobs of the lane, each charged as it is
// chosen; less urgent jobs fill up what the more urgent ones leave. While the lane whose turn it is
// still gathers on a busy device, another lane that is due goes before it, unless its jobs are less
// urgent.
//
// Enqueue, Cancel, and Take with max_requests 1 cost O(log pending); a batch costs O(clients in its
// lane * log of them + its requests * log pending).
//
// A queue may be reserved for a device lease. Then only jobs of that lease are taken; others wait
// until the reservation ends, and are refused meanwhile like any that wait.
//
// Where there is no memory to choose a batch, or to refuse what is late, all jobs wait until there
// is, and so do threads in Take.
//
// When it is destroyed, it must be empty, with no thread inside.
class BatchQueue {
 public:
  // How full the queue is.
  struct Load {
    size_t pending = 0;
    uint64_t pending_bytes = 0;
    int in_flight = 0;
    // Uses of the device beside the queue: see BeginVisit.
    int visits = 0;
    // The lease that the queue is reserved for.
    uint64_t lease = kNoLease;
  };

  // `clock` must outlive the queue.
  BatchQueue(const Clock& clock, const BatchLimits& limits);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // Adds a job that waits in no queue; one that is cancelled is refused with REQUEST_CANCELLED.
  // False, which leaves the job alone, after Close, and, unless `may_be_held`, where it would have
  // to wait for the end of a reservation.
  bool Enqueue(Job& job, bool may_be_held = true);

  // Refuses the job with REQUEST_CANCELLED if it waits here. Returns whether it did.
  bool Cancel(Job& job);

  // Waits until a batch is due and takes it; the caller calls Done once it has run. Empty once the
  // queue is closed and holds nothing. Sleeps in real time until the next time that matters by the
  // clock: a simulated clock wakes nobody when it is moved.
  Batch Take();

  // The same without waiting: empty if no batch is due, or there is no memory. `wake_at`, if given,
  // then becomes the time at which a batch or a refusal may be due without any further event.
  Batch TryTake(Clock::TimePoint* wake_at = nullptr);

  // Lets the caller run a job at once instead of adding it: counts it as a batch in flight, also
  // beyond max_in_flight. False if anything waits here, and after Close. The caller calls Done once
  // it has run the job.
  bool TryBegin();

  // A taken batch has been answered or handed on. Once for each batch. Returns whether the device
  // is idle by that and somebody wants to know: see Watch.
  bool Done();

  // Counts a use of the device beside the queue, such as a test, which delays no batch. False while
  // the queue is reserved. The caller calls EndVisit afterwards, which returns what Done does.
  bool BeginVisit();
  bool EndVisit();

  // Reserves the queue, which must not be reserved, for a lease. Takes all jobs that wait and are
  // not of the lease out of it, in the order of arrival, for the caller to place anew; those that
  // are added here wait. What is in flight is not counted in. No effect after Close.
  std::vector<Job*> Reserve(uint64_t lease);

  // Ends the reservation, if there is one: all that waits may be taken. Jobs for which there is no
  // memory are refused with OUT_OF_MEMORY.
  void EndReservation();

  // Takes all that waits for the end of the reservation out of the queue, in the order of arrival,
  // for the caller to place anew.
  std::vector<Job*> TakeHeld();

  // The lease that the queue is reserved for; kNoLease: none.
  uint64_t lease() const { return lease_; }

  // Whether somebody wants to know when the device is idle, which Done tells. A reservation does so
  // by itself.
  void Watch(bool is_watched);

  // Takes all that waits, also for the end of a reservation, in the order of arrival, for the jobs
  // to run elsewhere. What is in flight is not counted in.
  std::vector<Job*> Flush();

  // Accepts no more jobs, and ends the reservation for good; what waits is still taken.
  void Close();

  // Takes no lock, because every request that has a choice of devices looks at all queues, and no
  // lock is busier than theirs: each number by itself was right a moment ago.
  Load load() const ABSL_NO_THREAD_SAFETY_ANALYSIS;

 private:
  // What one look at the queue leads to.
  struct Round {
    Clock::TimePoint now = {};
    // Removed because their deadlines have passed.
    std::vector<Job*> late;
    Batch batch;
    Clock::TimePoint wake_at = Clock::kNever;
    // Nothing will ever be taken again.
    bool is_last = false;

    bool is_idle() const { return late.empty() && batch.empty() && !is_last; }
  };

  Round Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeDue(Round& round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeIfDue(const PendingJobs::Selection& selection, Round& round)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitUntil(Clock::TimePoint wake_at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called after a change that leaves something to do for a thread in Take. Some thread there
  // must know of the present state, so each that leaves wakes another.
  void WakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefuseLate(const Round& round) const;
  // Refuses a job that nobody waits for at `now`: it was cancelled, or its deadline has passed.
  void RefuseUnwanted(Job& job, Clock::TimePoint now) const;
  bool TellsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the reservation. Returns the jobs for which there was no memory.
  std::vector<Job*> FreeHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds jobs to those that may be taken. Returns those for which there was no memory.
  std::vector<Job*> AddAll(std::vector<Job*> jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const BatchLimits limits_;
  // Made while there is memory.
  const absl::Status out_of_memory_;
  mutable Mutex mutex_;
  CondVar changed_;
  PendingJobs pending_ ABSL_GUARDED_BY(mutex_);
  // What waits for the end of the reservation.
  PendingJobs held_ ABSL_GUARDED_BY(mutex_);
  // Written under the lock only.
  std::atomic<int> in_flight_ = 0;
  std::atomic<int> visits_ = 0;
  std::atomic<uint64_t> lease_ = kNoLease;
  bool is_watched_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BATCH_BATCH_QUEUE_H_
