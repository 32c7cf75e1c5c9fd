// File: server/base/task_thread.h
//
// A thread for work that is too long for the pollers and too short for threads of its own.

#ifndef OPSERVE_SERVER_BASE_TASK_THREAD_H_
#define OPSERVE_SERVER_BASE_TASK_THREAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "proto/base/named_thread.h"
#include "server/base/fair_queue.h"

namespace opserve {

// Runs tasks one by one; clients take turns. Thread-safe. The destructor waits for all tasks.
class TaskThread {
 public:
  using Ticket = FairQueue<std::function<void()>>::Ticket;

  // `name`: of the thread, as for StartThread. When there is nothing to do, calls `at_rest` now and
  // again, about every `period`.
  TaskThread(absl::string_view name, std::chrono::milliseconds period,
             std::function<void()> at_rest)
      : period_(period),
        at_rest_(std::move(at_rest)),
        thread_(StartThread(name, [this] { Run(); })) {}
  ~TaskThread() {
    {
      MutexLock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.NotifyOne();
    thread_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // `cost`: how much the task is, beside those of other clients. It may run before this returns.
  Ticket Start(absl::string_view client, uint64_t cost, std::function<void()> task) {
    Ticket ticket = 0;
    {
      MutexLock lock(mutex_);
      ticket = tasks_.Push(client, cost, std::move(task));
    }
    changed_.NotifyOne();
    return ticket;
  }

  // Whether the task had not begun; it will not, then.
  bool Cancel(Ticket ticket) {
    MutexLock lock(mutex_);
    return tasks_.Remove(ticket);
  }

 private:
  void Run() {
    while (true) {
      std::function<void()> task;
      {
        MutexLock lock(mutex_);
        if (tasks_.empty() && !is_stopping_) changed_.WaitFor(mutex_, period_);
        if (tasks_.empty() && is_stopping_) return;
        task = tasks_.empty() ? at_rest_ : tasks_.Pop();
      }
      task();
    }
  }

  const std::chrono::milliseconds period_;
  const std::function<void()> at_rest_;
  Mutex mutex_;
  CondVar changed_;
  FairQueue<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_TASK_THREAD_H_
