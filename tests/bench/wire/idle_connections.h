// File: tests/bench/wire/idle_connections.h
//
// Connections that a server has to hold, and nobody uses.

#ifndef OPSERVE_TESTS_BENCH_WIRE_IDLE_CONNECTIONS_H_
#define OPSERVE_TESTS_BENCH_WIRE_IDLE_CONNECTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace opserve::wire_bench {

// Plain sockets that speak just enough HTTP/2: preface and settings in both directions. Not
// thread-safe.
class IdleConnections {
 public:
  // `target`: host:port with a numeric host, or unix:/path.
  explicit IdleConnections(std::string target) : target_(std::move(target)) {}
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

  // Opens one more and waits until the server has sent its settings. Fails where the operating
  // system refuses a socket, or the server does not answer within 10 seconds.
  absl::Status Open();

  size_t size() const { return sockets_.size(); }

  // How many of them the server has closed.
  size_t CountClosed() const;

 private:
  const std::string target_;
  std::vector<int> sockets_;
};

// Raises the limit of open files of this process as far as it may, and returns it.
size_t RaiseFileLimit();

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_IDLE_CONNECTIONS_H_
