// File: client/rpc/route.h
//
// To which hosts the attempts of a call go. A value; not thread-safe, each call has its own.

#ifndef OPSERVE_CLIENT_RPC_ROUTE_H_
#define OPSERVE_CLIENT_RPC_ROUTE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opserve::client_internal {

// Where the next attempt would go.
enum class NextHost : uint8_t {
  kSame,      // to where all have been
  kNamed,     // to a host of the one name of the target: gRPC chooses, usually the next
  kOther,     // to a host that this call has not met
  kRightOne,  // to the host that the last answer said it belongs to; nothing has run
};

// The hosts are numbers of Connections, which fills it in.
struct Route {
  // Host of the latest attempt.
  size_t host = 0;
  // Hosts that failed.
  std::vector<size_t> failed = {};
  // After an attempt that failed.
  NextHost next = NextHost::kSame;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_ROUTE_H_
