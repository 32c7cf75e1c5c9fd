#include "server/work_queue.h"

#include <utility>

#include "server/queue_errors.h"

namespace opserve {

std::optional<WorkQueue::Ticket> WorkQueue::Enqueue(Work& work, Clock::TimePoint deadline) {
  MutexLock lock(mutex_);
  if (closed_) return std::nullopt;
  const Ticket ticket = next_ticket_;
  entries_.emplace_hint(entries_.end(), ticket, Entry{&work, clock_.Now(), deadline});
  ++next_ticket_;
  changed_.notify_one();
  return ticket;
}

bool WorkQueue::Cancel(Ticket ticket) {
  decltype(entries_)::node_type node;
  {
    MutexLock lock(mutex_);
    node = entries_.extract(ticket);
  }
  if (node.empty()) return false;
  const Entry& entry = node.mapped();
  const Clock::TimePoint now = clock_.Now();
  const Clock::Duration queued = now - entry.enqueued;
  // gRPC reports a passed deadline as a cancellation, too.
  entry.work->Drop(now >= entry.deadline ? DeadlinePassedError(queued) : CancelledError(queued));
  return true;
}

bool WorkQueue::RunNext() {
  decltype(entries_)::node_type node;
  {
    MutexLock lock(mutex_);
    while (entries_.empty() && !closed_) changed_.wait(mutex_);
    if (entries_.empty()) return false;
    node = entries_.extract(entries_.begin());
  }
  const Entry& entry = node.mapped();
  const Clock::TimePoint now = clock_.Now();
  const Clock::Duration queued = now - entry.enqueued;
  if (now >= entry.deadline) {
    entry.work->Drop(DeadlinePassedError(queued));
  } else {
    entry.work->Run(queued);
  }
  return true;
}

void WorkQueue::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

size_t WorkQueue::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace opserve
