// File: server/transport.h
//
// How the server's connections are set up.

#ifndef OPSERVE_SERVER_TRANSPORT_H_
#define OPSERVE_SERVER_TRANSPORT_H_

#include "grpcpp/server_builder.h"
#include "server/log.h"
#include "server/server_options.h"

namespace opserve {

// Sets limits and tunes connections. docs/adr/0014-transport.md has the reasons.
void SetUpTransport(const ServerOptions& options, Logger& logger, grpc::ServerBuilder& builder);

}  // namespace opserve

#endif  // OPSERVE_SERVER_TRANSPORT_H_
