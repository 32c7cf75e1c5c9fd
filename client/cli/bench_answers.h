// File: client/cli/bench_answers.h
//
// Counts which devices answered the calls of a benchmark, and in what batches. Thread-safe.

#ifndef OPSERVE_CLIENT_CLI_BENCH_ANSWERS_H_
#define OPSERVE_CLIENT_CLI_BENCH_ANSWERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "opserve/client.h"
#include "proto/base/mutex.h"

namespace opserve::cli {

// The answers of one device.
struct DeviceAnswers {
  uint64_t calls = 0;
  uint64_t batch_sizes = 0;  // sum over the calls
  uint64_t retried = 0;      // calls that took the server more than one run
  uint64_t verified = 0;
  uint64_t shared = 0;  // calls whose tensors went through shared memory

  // Requests of the batch that a call was in, on average over the calls.
  double MeanBatch() const {
    return calls == 0 ? 0 : static_cast<double>(batch_sizes) / static_cast<double>(calls);
  }
};

class BenchAnswers {
 public:
  // Counts a call that succeeded.
  void Add(const ExecutionInfo& info) {
    const MutexLock lock(mutex_);
    DeviceAnswers& answers = devices_[info.device];
    ++answers.calls;
    answers.batch_sizes += info.batch_size;
    answers.retried += info.attempts > 1 ? 1 : 0;
    answers.verified += info.verified ? 1 : 0;
    answers.shared += info.path == PayloadPath::kSharedMemory ? 1 : 0;
  }

  // By name of the device.
  std::map<std::string, DeviceAnswers> devices() const {
    const MutexLock lock(mutex_);
    return devices_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, DeviceAnswers> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_BENCH_ANSWERS_H_
