// File: server/base/published.h
//
// A value that is replaced now and then while others use it.

#ifndef OPSERVE_SERVER_BASE_PUBLISHED_H_
#define OPSERVE_SERVER_BASE_PUBLISHED_H_

#include <memory>
#include <utility>

#include "proto/base/mutex.h"

namespace opserve {

// Whoever got the value keeps what he got. Thread-safe.
template <typename T>
class Published {
 public:
  // nullptr before the first Set.
  std::shared_ptr<const T> Get() const {
    MutexLock lock(mutex_);
    return value_;
  }

  // Makes the next value of `args`.
  template <typename... Args>
  void Set(Args&&... args) {
    Put(std::make_shared<const T>(std::forward<Args>(args)...));
  }

  // The same with a value that was made already.
  void Put(std::shared_ptr<const T> next) {
    // The old value is destroyed after the lock is free.
    MutexLock lock(mutex_);
    value_.swap(next);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_PUBLISHED_H_
