// File: server/worker_pool.h
//
// The threads that run the work of a WorkQueue.

#ifndef OPSERVE_SERVER_WORKER_POOL_H_
#define OPSERVE_SERVER_WORKER_POOL_H_

#include <thread>
#include <vector>

#include "server/work_queue.h"

namespace opserve {

// Runs until destroyed. The destructor closes the queue, finishes what is queued and joins.
class WorkerPool {
 public:
  // Starts `threads` (at least 1) threads. `queue` must outlive the pool.
  WorkerPool(WorkQueue& queue, int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

 private:
  WorkQueue& queue_;
  std::vector<std::thread> threads_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_WORKER_POOL_H_
