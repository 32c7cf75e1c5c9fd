// File: proto/base/mutex.h
//
// std::mutex with the annotations of Clang's thread-safety analysis. Unlike absl::Mutex, whose
// distributed library is not instrumented, it is understood by ThreadSanitizer.

#ifndef OPSERVE_PROTO_BASE_MUTEX_H_
#define OPSERVE_PROTO_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace opserve {

// A mutex that ABSL_GUARDED_BY can name.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for the length of a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable for Mutex. Each wait gives the mutex up while it lasts, may return without a
// cause, and so belongs into a loop over what is waited for.
class CondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }

  // Returns false where `time` has come without a notification.
  template <class Clock, class Duration>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool is_notified = changed_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return is_notified;
  }

  // The same after so long a time.
  template <class Rep, class Period>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + limit);
  }

 private:
  std::condition_variable changed_;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_MUTEX_H_
