// File: server/rpc/transport.h
//
// How gRPC is set up for the server's connections.

#ifndef OPSERVE_SERVER_RPC_TRANSPORT_H_
#define OPSERVE_SERVER_RPC_TRANSPORT_H_

#include <cstdint>

#include "grpcpp/server_builder.h"

namespace opserve {

struct TransportLimits {
  // Largest message in bytes, in each direction.
  uint64_t message_bytes = uint64_t{257} << 20;
  // Most bytes that gRPC holds for messages which it is receiving or sending.
  uint64_t held_bytes = uint64_t{2} << 30;
};

// Sets limits. docs/adr/0014-transport.md has the reasons.
void SetUpTransport(const TransportLimits& limits, grpc::ServerBuilder& builder);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_TRANSPORT_H_
