// File: tests/integration/client_threads.h
//
// Clients that call at the same time.

#ifndef OPSERVE_TESTS_INTEGRATION_CLIENT_THREADS_H_
#define OPSERVE_TESTS_INTEGRATION_CLIENT_THREADS_H_

#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace opserve::testing {

// Threads that do `work`, each with its number, of which none ends before all are done. In a
// blocking call of gRPC a thread reads for other connections, too, and on Windows a connection may
// be lost where the thread that reads for it ends: what it waits for is given up with it.
class ClientThreads {
 public:
  ClientThreads(int count, std::function<void(int)> work)
      : work_(std::move(work)), all_done_(count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, i] {
        work_(i);
        all_done_.arrive_and_wait();
      });
    }
  }
  ~ClientThreads() { Join(); }
  ClientThreads(const ClientThreads&) = delete;
  ClientThreads& operator=(const ClientThreads&) = delete;

  // Waits until all have ended.
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  const std::function<void(int)> work_;
  std::latch all_done_;
  std::vector<std::thread> threads_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_CLIENT_THREADS_H_
