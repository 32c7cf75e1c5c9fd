// File: server/base/task_thread.h
//
// A thread for work that is too long for the pollers and too short for threads of its own.

#ifndef OPSERVE_SERVER_BASE_TASK_THREAD_H_
#define OPSERVE_SERVER_BASE_TASK_THREAD_H_

#include <chrono>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "proto/base/mutex.h"

namespace opserve {

// Runs tasks in their order. Thread-safe. The destructor waits for all tasks.
class TaskThread {
 public:
  // When there is nothing to do, calls `at_rest` now and again, about every `period`.
  TaskThread(std::chrono::milliseconds period, std::function<void()> at_rest)
      : period_(period), at_rest_(std::move(at_rest)), thread_([this] { Run(); }) {}
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

  void Start(std::function<void()> task) {
    {
      MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.NotifyOne();
  }

 private:
  void Run() {
    while (true) {
      std::function<void()> task;
      {
        MutexLock lock(mutex_);
        if (tasks_.empty() && !is_stopping_) changed_.WaitFor(mutex_, period_);
        if (tasks_.empty() && is_stopping_) return;
        if (tasks_.empty()) {
          task = at_rest_;
        } else {
          task = std::move(tasks_.front());
          tasks_.pop_front();
        }
      }
      task();
    }
  }

  const std::chrono::milliseconds period_;
  const std::function<void()> at_rest_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_TASK_THREAD_H_
