// File: server/d3d12/host_copier.h
//
// Copies between the memory of requests and memory that a device shares with the host, by several
// threads: one alone copies less than a bus carries both ways.

#ifndef OPSERVE_SERVER_D3D12_HOST_COPIER_H_
#define OPSERVE_SERVER_D3D12_HOST_COPIER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "proto/base/mutex.h"
#include "server/d3d12/host_copy.h"

namespace opserve::d3d12 {

// Half of the processors, the caller's among them, and no more than so many: they fill a bus both
// ways at once, and runners and pollers need processors, too.
inline constexpr size_t kMostCopyThreads = 8;
size_t CopyThreadsFor(size_t processors);

// Thread-safe.
class HostCopier {
 public:
  // Less than this is copied by the caller alone, and stays in its caches.
  static constexpr uint64_t kLeastShared = uint64_t{1} << 20;

  // With up to `threads` threads, that of the caller among them. The others start when they are
  // needed.
  explicit HostCopier(size_t threads) : helper_count_(threads - 1) {}
  // No copies may be under way.
  ~HostCopier();
  HostCopier(const HostCopier&) = delete;
  HostCopier& operator=(const HostCopier&) = delete;

  // Does all of `copies`.
  void Run(std::span<const HostCopy> copies);

 private:
  // The copies of one call of Run in chunks.
  struct Job {
    HostCopies chunks;
    std::atomic<size_t> next = 0;
    // Helpers that are at work on it.
    size_t helpers = 0;

    void Work();
    bool is_taken() const { return next >= chunks.size(); }
  };

  void StartHelpers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Help();
  // Waits for a job of which there is something left, and joins those who are at work on it.
  // nullptr if there will be none.
  Job* Join();
  void Leave(Job& job);

  const size_t helper_count_;
  Mutex mutex_;
  CondVar has_work_;
  CondVar has_left_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Job*> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> helpers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_HOST_COPIER_H_
