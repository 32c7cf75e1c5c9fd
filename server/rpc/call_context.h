// File: server/rpc/call_context.h
//
// What gRPC tells of a call, in the terms of the server. Stateless; to be used by one thread at a
// time for each call.

#ifndef OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define OPSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include <string>

#include "grpcpp/server_context.h"
#include "server/base/clock.h"

namespace opserve {

// Who calls: see server/rpc/client_identity.h.
std::string ClientOf(const grpc::ServerContext& context);

// By SteadyClock(); kNever if there is none.
Clock::TimePoint DeadlineOf(const grpc::ServerContext& context);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
