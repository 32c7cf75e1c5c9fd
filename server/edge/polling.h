// File: server/edge/polling.h
//
// Where the edge sees how gRPC polls its connections, and may have one polled once more.

#ifndef OPSERVE_SERVER_EDGE_POLLING_H_
#define OPSERVE_SERVER_EDGE_POLLING_H_

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>

namespace opserve {

// Whether gRPC's calls of epoll_ctl and epoll_wait go through this program's functions of these
// names. docs/adr/0019-edge.md tells why this is so.
bool SeesPolling();

// Number of times that gRPC has asked what is ready. Thread-safe.
uint64_t PollRound();

// How gRPC polls a descriptor for what comes. Written once, by gRPC's epoll_ctl; then thread-safe.
class PollEntry {
 public:
  // gRPC adds the descriptor to `poller`.
  void Set(int poller, const epoll_event& event) {
    event_ = event;
    poller_.store(poller, std::memory_order_release);
  }

  // Whether it is polled, and told once of what comes.
  bool is_set() const { return poller_.load(std::memory_order_acquire) >= 0; }

  // If something is there to be read, it is told again, after all that is ready now. `fd`: what was
  // added. Nothing happens where it is polled no more.
  void Repeat(int fd) const;

 private:
  std::atomic<int> poller_ = -1;
  epoll_event event_ = {};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_POLLING_H_
