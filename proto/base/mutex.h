// File: proto/base/mutex.h
//
// std::mutex with the annotations of Clang's thread-safety analysis. Unlike absl::Mutex, whose
// distributed library is not instrumented, it is understood by ThreadSanitizer.

#ifndef OPSERVE_PROTO_BASE_MUTEX_H_
#define OPSERVE_PROTO_BASE_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace opserve {

// A mutex that ABSL_GUARDED_BY can name. Waits go through std::condition_variable_any.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
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

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_MUTEX_H_
