// File: server/pool/slot_counters.h
//
// What the pool counts of each of its devices.

#ifndef OPSERVE_SERVER_POOL_SLOT_COUNTERS_H_
#define OPSERVE_SERVER_POOL_SLOT_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "proto/base/mutex.h"

namespace opserve {

// What a device did since the server started; proto/opserve/device_counters.def tells what each
// counter counts.
struct SlotCounters {
#define OPSERVE_POOL_COUNTER(NAME) uint64_t NAME = 0;
#define OPSERVE_BATCH_COUNTER(NAME) std::map<size_t, uint64_t> NAME;
#include "proto/opserve/device_counters.def"
};

// What several threads count. Thread-safe.
class SharedCounters {
 public:
  void Change(absl::FunctionRef<void(SlotCounters&)> change) {
    MutexLock lock(mutex_);
    change(counters_);
  }
  SlotCounters Get() const {
    MutexLock lock(mutex_);
    return counters_;
  }

 private:
  mutable Mutex mutex_;
  SlotCounters counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_SLOT_COUNTERS_H_
