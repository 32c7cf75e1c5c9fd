#include "server/worker_pool.h"

namespace opserve {

WorkerPool::WorkerPool(WorkQueue& queue, int threads) : queue_(queue) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([&queue] {
      while (queue.RunNext()) {
      }
    });
  }
}

WorkerPool::~WorkerPool() {
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace opserve
