// File: server/edge/named_address.h
//
// Listening at a host's addresses by TCP, as far as that is the same on all systems.

#ifndef OPSERVE_SERVER_EDGE_NAMED_ADDRESS_H_
#define OPSERVE_SERVER_EDGE_NAMED_ADDRESS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/system_sockets.h"
#include "proto/packets/unique_fd.h"
#include "server/edge/listen_address.h"
#include "server/edge/listening_socket.h"

namespace opserve {

// What each system does in its own way.
struct TcpListener {
  // A socket that listens at one address.
  absl::FunctionRef<absl::StatusOr<UniqueFd>(const addrinfo& address)> listen;
  // What getaddrinfo says by `error`.
  absl::FunctionRef<absl::Status(int error)> describe;
};

// Listens at all addresses of `host`, which stands for that of `address`, where that works; the
// port that the first one got is that of the others. Fails with the first error where it works at
// none.
absl::StatusOr<ListeningSockets> ListenAtHost(const ListenAddress& address, absl::string_view host,
                                              const TcpListener& listener);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_NAMED_ADDRESS_H_
