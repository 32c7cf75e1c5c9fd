#include "server/edge/polling.h"

#include "server/edge/connection_table.h"
#include "server/edge/next_function.h"

namespace opserve {
namespace {

// What gRPC polls connections with; it has one for all.
std::atomic<int> connection_poller = -1;
std::atomic<uint64_t> poll_round = 0;

}  // namespace

bool SeesPolling() {
  return IsInFront("epoll_ctl", &::epoll_ctl) && IsInFront("epoll_wait", &::epoll_wait);
}

uint64_t PollRound() { return poll_round.load(std::memory_order_relaxed); }

void PollEntry::Repeat(int fd) const {
  const int poller = poller_.load(std::memory_order_acquire);
  if (poller < 0) return;
  epoll_event event = event_;
  epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
}

}  // namespace opserve

// The program's symbols come before those of its libraries, so gRPC calls these.
extern "C" {

__attribute__((visibility("default"))) int epoll_ctl(int poller, int operation, int fd,
                                                     epoll_event* event) {
  static auto* const next = opserve::NextFunction<int(int, int, int, epoll_event*)>("epoll_ctl");
  if (operation == EPOLL_CTL_ADD && (event->events & EPOLLET) != 0 &&
      (event->events & EPOLLIN) != 0) {
    opserve::EdgeConnection* const connection = opserve::FindConnection(fd);
    // Another descriptor may have the number of a connection that has ended.
    if (connection != nullptr && !connection->poll_entry.is_set() &&
        opserve::CookieOf(fd) == connection->cookie) {
      connection->poll_entry.Set(poller, *event);
      opserve::connection_poller.store(poller, std::memory_order_relaxed);
    }
  }
  return next(poller, operation, fd, event);
}

__attribute__((visibility("default"))) int epoll_wait(int poller, epoll_event* events, int count,
                                                      int timeout_ms) {
  static auto* const next = opserve::NextFunction<int(int, epoll_event*, int, int)>("epoll_wait");
  if (poller == opserve::connection_poller.load(std::memory_order_relaxed)) {
    opserve::poll_round.fetch_add(1, std::memory_order_relaxed);
  }
  return next(poller, events, count, timeout_ms);
}

}  // extern "C"
