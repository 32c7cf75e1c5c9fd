// File: server/base/single_task.h
//
// Runs a long task beside the pollers, which must not block.

#ifndef OPSERVE_SERVER_BASE_SINGLE_TASK_H_
#define OPSERVE_SERVER_BASE_SINGLE_TASK_H_

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "proto/base/mutex.h"
#include "proto/base/named_thread.h"

namespace opserve {

// One task at a time, in a thread of its own. Thread-safe. The destructor waits for the task.
class SingleTask {
 public:
  // `name`: of the thread, as for StartThread.
  explicit SingleTask(std::string name) : name_(std::move(name)) {}
  ~SingleTask() {
    if (thread_.joinable()) thread_.join();
  }
  SingleTask(const SingleTask&) = delete;
  SingleTask& operator=(const SingleTask&) = delete;

  // Starts `task`, which must not throw. False, without doing anything, while another one runs.
  // `tell` is called after it, in its thread, once the next one may start: who hears of the end by
  // it is not refused. Throws std::system_error where the system has no thread for it, and neither
  // is called then.
  bool Start(std::function<void()> task, std::function<void()> tell) {
    MutexLock lock(mutex_);
    if (is_running_) return false;
    // The thread of the last task is at its end.
    if (thread_.joinable()) thread_.join();
    thread_ = StartThread(name_, [this, run = std::move(task), told = std::move(tell)] {
      run();
      {
        MutexLock done(mutex_);
        is_running_ = false;
      }
      told();
    });
    // The thread cannot be done before the lock is free.
    is_running_ = true;
    return true;
  }

 private:
  const std::string name_;
  Mutex mutex_;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_SINGLE_TASK_H_
