#include "server/execute/run_queue.h"

#include <utility>

namespace opserve {

void RunQueue::Push(ReceivedMessage run) {
  MutexLock lock(mutex_);
  if (phase_ == Phase::kEnded || !why_.ok()) return;
  waiting_.push_back(std::move(run));
}

RunQueue::Step RunQueue::Begin() {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kIdle) return {};
  if (!why_.ok()) {
    phase_ = Phase::kEnded;
    return {.refusal = why_};
  }
  if (waiting_.empty()) return {};
  phase_ = Phase::kSubmitting;
  Step step = {.run = std::move(waiting_.front())};
  waiting_.pop_front();
  return step;
}

bool RunQueue::OnSubmitted() {
  MutexLock lock(mutex_);
  if (phase_ == Phase::kSubmitting) phase_ = Phase::kRunning;
  if (phase_ != Phase::kAnswered) return false;
  phase_ = Phase::kIdle;
  return true;
}

bool RunQueue::OnAnswered() {
  MutexLock lock(mutex_);
  if (phase_ == Phase::kSubmitting) phase_ = Phase::kAnswered;
  if (phase_ != Phase::kRunning) return false;
  phase_ = Phase::kIdle;
  return true;
}

void RunQueue::Stop(const absl::Status& why) {
  // Destroyed once the lock is free.
  std::deque<ReceivedMessage> dropped;
  MutexLock lock(mutex_);
  if (phase_ == Phase::kEnded || !why_.ok()) return;
  why_ = why;
  dropped.swap(waiting_);
}

void RunQueue::End() {
  std::deque<ReceivedMessage> dropped;
  MutexLock lock(mutex_);
  phase_ = Phase::kEnded;
  dropped.swap(waiting_);
}

bool RunQueue::has_ended() const {
  MutexLock lock(mutex_);
  return phase_ == Phase::kEnded;
}

}  // namespace opserve
