#include "server/batch/batch_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/errors/queue_errors.h"

namespace opserve {
namespace {

// Far ahead of any deadline that matters, and no sum of it and a time overflows.
constexpr Clock::Duration kLongestSleep = std::chrono::hours(1);

}  // namespace

BatchQueue::BatchQueue(const Clock& clock, const BatchLimits& limits)
    : clock_(clock), limits_(limits), pending_(limits_) {}

bool BatchQueue::Enqueue(Job& job) {
  MutexLock lock(mutex_);
  if (is_closed_) return false;
  pending_.Add(job, clock_.Now());
  // One thread is enough: it sees all that waits, and wakes the next when it leaves.
  changed_.NotifyOne();
  return true;
}

bool BatchQueue::Cancel(Job& job) {
  {
    MutexLock lock(mutex_);
    if (!pending_.Remove(job)) return false;
    WakeNext();
  }
  const Clock::TimePoint now = clock_.Now();
  const Clock::Duration queued = now - job.traits().accepted;
  // gRPC reports a passed deadline as a cancellation, too.
  job.Refuse(now >= job.traits().deadline ? DeadlinePassedError(queued) : CancelledError(queued));
  return true;
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
  if (is_closed_ || !pending_.empty()) return false;
  ++in_flight_;
  return true;
}

void BatchQueue::Done() {
  MutexLock lock(mutex_);
  --in_flight_;
  WakeNext();
}

std::vector<Job*> BatchQueue::Flush() {
  MutexLock lock(mutex_);
  std::vector<Job*> jobs = pending_.RemoveAll();
  WakeNext();
  return jobs;
}

void BatchQueue::Close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.NotifyAll();
}

BatchQueue::Load BatchQueue::load() const {
  MutexLock lock(mutex_);
  return {pending_.size(), pending_.bytes(), in_flight_};
}

BatchQueue::Round BatchQueue::Decide() {
  Round round;
  round.now = clock_.Now();
  round.late = pending_.RemoveExpired(round.now);
  // A full device takes nothing, so nothing needs to be selected for it.
  if (!pending_.empty() && in_flight_ < limits_.max_in_flight) TakeDue(round);
  round.wake_at = std::min(round.wake_at, pending_.earliest_deadline());
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
  if (!pending_.empty()) {
    changed_.NotifyOne();
  } else if (is_closed_) {
    changed_.NotifyAll();
  }
}

void BatchQueue::RefuseLate(const Round& round) {
  for (Job* job : round.late) job->Refuse(DeadlinePassedError(round.now - job->traits().accepted));
}

}  // namespace opserve
