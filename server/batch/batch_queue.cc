#include "server/batch/batch_queue.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "server/errors/errors.h"
#include "server/errors/queue_errors.h"

namespace opserve {
namespace {

// Far ahead of any deadline that matters, and no sum of it and a time overflows.
constexpr Clock::Duration kLongestSleep = std::chrono::hours(1);

// How soon a look at the queue is taken again for which there was no memory: nobody tells of any
// that comes back.
constexpr Clock::Duration kMemoryPause = std::chrono::milliseconds(10);

}  // namespace

BatchQueue::BatchQueue(const Clock& clock, const BatchLimits& limits)
    : clock_(clock),
      limits_(limits),
      out_of_memory_(OutOfMemoryError()),
      pending_(limits_),
      held_(limits_) {}

bool BatchQueue::Enqueue(Job& job, bool may_be_held) {
  {
    MutexLock lock(mutex_);
    if (is_closed_) return false;
    const bool is_held = lease_ != kNoLease && job.traits().lease != lease_;
    if (is_held && !may_be_held) return false;
    if (!job.is_cancelled()) {
      (is_held ? held_ : pending_).Add(job, clock_.Now());
      // One thread is enough: it sees all that waits, and wakes the next when it leaves.
      changed_.NotifyOne();
      return true;
    }
  }
  RefuseUnwanted(job, clock_.Now());
  return true;
}

bool BatchQueue::Cancel(Job& job) {
  {
    MutexLock lock(mutex_);
    if (!pending_.Remove(job) && !held_.Remove(job)) return false;
    WakeNext();
  }
  RefuseUnwanted(job, clock_.Now());
  return true;
}

void BatchQueue::RefuseUnwanted(Job& job, Clock::TimePoint now) const {
  const Clock::Duration queued = now - job.traits().accepted;
  absl::Status why = out_of_memory_;
  try {
    // gRPC reports a passed deadline as a cancellation, too.
    why = now >= job.traits().deadline ? DeadlinePassedError(queued) : CancelledError(queued);
  } catch (const std::bad_alloc&) {
    // It has left the queue, so nobody else would answer it.
  }
  job.Refuse(why);
}

Batch BatchQueue::Take() {
  for (;;) {
    Round round;
    {
      MutexLock lock(mutex_);
      for (round = Decide(); round.is_idle(); round = Decide()) WaitUntil(round.wake_at);
      WakeNext();
    }
    RefuseLate(round);
    if (round.is_last || !round.batch.empty()) return std::move(round.batch);
  }
}

Batch BatchQueue::TryTake(Clock::TimePoint* wake_at) {
  Round round;
  {
    MutexLock lock(mutex_);
    round = Decide();
    if (!round.is_idle()) WakeNext();
  }
  RefuseLate(round);
  if (wake_at != nullptr) *wake_at = round.wake_at;
  return std::move(round.batch);
}

bool BatchQueue::TryBegin() {
  MutexLock lock(mutex_);
  if (is_closed_ || lease_ != kNoLease || !pending_.empty()) return false;
  ++in_flight_;
  return true;
}

bool BatchQueue::Done() {
  MutexLock lock(mutex_);
  --in_flight_;
  WakeNext();
  return TellsIdle();
}

bool BatchQueue::BeginVisit() {
  MutexLock lock(mutex_);
  if (lease_ != kNoLease) return false;
  ++visits_;
  return true;
}

bool BatchQueue::EndVisit() {
  MutexLock lock(mutex_);
  --visits_;
  return TellsIdle();
}

bool BatchQueue::TellsIdle() const {
  return (is_watched_ || lease_ != kNoLease) && in_flight_ == 0 && visits_ == 0;
}

std::vector<Job*> BatchQueue::Reserve(uint64_t lease) {
  MutexLock lock(mutex_);
  if (is_closed_) return {};
  std::vector<Job*> jobs;
  // Before anything is removed: no job is lost for want of memory.
  std::vector<Job*> of_lease;
  of_lease.reserve(pending_.size());
  pending_.RemoveAll(jobs);
  lease_ = lease;
  const auto others = std::stable_partition(
      jobs.begin(), jobs.end(), [lease](const Job* job) { return job->traits().lease != lease; });
  of_lease.assign(others, jobs.end());
  jobs.erase(others, jobs.end());
  of_lease = AddAll(std::move(of_lease));
  // There is room: it is where they were.
  jobs.insert(jobs.end(), of_lease.begin(), of_lease.end());
  return jobs;
}

void BatchQueue::EndReservation() {
  std::vector<Job*> dropped;
  {
    MutexLock lock(mutex_);
    dropped = FreeHeld();
  }
  for (Job* const job : dropped) job->Refuse(out_of_memory_);
}

std::vector<Job*> BatchQueue::TakeHeld() {
  std::vector<Job*> jobs;
  MutexLock lock(mutex_);
  held_.RemoveAll(jobs);
  return jobs;
}

std::vector<Job*> BatchQueue::FreeHeld() {
  std::vector<Job*> jobs;
  held_.RemoveAll(jobs);
  lease_ = kNoLease;
  return AddAll(std::move(jobs));
}

std::vector<Job*> BatchQueue::AddAll(std::vector<Job*> jobs) {
  const Clock::TimePoint now = clock_.Now();
  auto next = jobs.begin();
  try {
    for (; next != jobs.end(); ++next) pending_.Add(**next, now);
  } catch (const std::bad_alloc&) {
    // The caller answers the rest.
  }
  jobs.erase(jobs.begin(), next);
  WakeNext();
  return jobs;
}

void BatchQueue::Watch(bool is_watched) {
  MutexLock lock(mutex_);
  is_watched_ = is_watched;
}

std::vector<Job*> BatchQueue::Flush() {
  std::vector<Job*> jobs;
  MutexLock lock(mutex_);
  // Before anything is removed: no job is lost for want of memory.
  jobs.reserve(pending_.size() + held_.size());
  pending_.RemoveAll(jobs);
  held_.RemoveAll(jobs);
  WakeNext();
  return jobs;
}

void BatchQueue::Close() {
  std::vector<Job*> dropped;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    dropped = FreeHeld();
    changed_.NotifyAll();
  }
  for (Job* const job : dropped) job->Refuse(out_of_memory_);
}

BatchQueue::Load BatchQueue::load() const {
  return {pending_.size() + held_.size(), pending_.bytes() + held_.bytes(), in_flight_, visits_,
          lease_};
}

BatchQueue::Round BatchQueue::Decide() {
  Round round;
  round.now = clock_.Now();
  try {
    pending_.RemoveExpired(round.now, round.late);
    held_.RemoveExpired(round.now, round.late);
    // A full device takes nothing, so nothing needs to be selected for it.
    if (!pending_.empty() && in_flight_ < limits_.max_in_flight) TakeDue(round);
  } catch (const std::bad_alloc&) {
    // What was removed is answered first, all else waits. The next look does the rest.
    round.wake_at = round.now + kMemoryPause;
    return round;
  }
  round.wake_at =
      std::min({round.wake_at, pending_.earliest_deadline(), held_.earliest_deadline()});
  // There is nothing held once it is closed.
  round.is_last = is_closed_ && pending_.empty();
  return round;
}

void BatchQueue::TakeDue(Round& round) {
  const PendingJobs::Selection first = pending_.SelectFirst();
  if (TakeIfDue(first, round)) return;
  for (const PendingJobs::Lane& lane : pending_.lanes()) {
    if (&lane == first.lane) continue;
    const PendingJobs::Selection other = pending_.Select(lane);
    if (other.priority == first.priority && TakeIfDue(other, round)) return;
  }
}

bool BatchQueue::TakeIfDue(const PendingJobs::Selection& selection, Round& round) {
  const BatchDecision decision = DecideBatch(round.now, selection.candidates, in_flight_, limits_);
  if (decision.take == 0) {
    round.wake_at = std::min(round.wake_at, decision.wake_at);
    return false;
  }
  round.batch = pending_.Take(selection, decision.take);
  ++in_flight_;
  return true;
}

void BatchQueue::WaitUntil(Clock::TimePoint wake_at) {
  if (wake_at == Clock::kNever) {
    changed_.Wait(mutex_);
  } else {
    changed_.WaitFor(mutex_, std::min<Clock::Duration>(wake_at - clock_.Now(), kLongestSleep));
  }
}

void BatchQueue::WakeNext() {
  // Somebody must know of the deadlines of what is held, too.
  if (!pending_.empty() || !held_.empty()) {
    changed_.NotifyOne();
  } else if (is_closed_) {
    changed_.NotifyAll();
  }
}

void BatchQueue::RefuseLate(const Round& round) const {
  for (Job* const job : round.late) RefuseUnwanted(*job, round.now);
}

}  // namespace opserve
