// File: server/edge/listen_address.h
//
// Addresses that a server listens on: "host:port", "[::1]:port" and "unix:/path".

#ifndef OPSERVE_SERVER_EDGE_LISTEN_ADDRESS_H_
#define OPSERVE_SERVER_EDGE_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace opserve {

struct ListenAddress {
  std::string host;  // as written, with the brackets of an IPv6 address; empty for a socket file
  int port = 0;      // 0: any free one
  std::string unix_path;  // empty for TCP

  bool is_unix() const { return !unix_path.empty(); }
  // Whether only programs on this machine reach it: a socket file, "localhost", or a loopback
  // address.
  bool IsLocal() const;
  // The address in the form that ParseListenAddress and gRPC's clients read.
  std::string ToString() const;
};

// Reads an address. Fails with kInvalidArgument and a message that says what is wrong.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_LISTEN_ADDRESS_H_
