// File: server/rpc/call_context.h
//
// What gRPC tells of a call, in the terms of the server: what its sender shows, and when it must be
// done. Stateless; to be used by one thread at a time for each call.

#ifndef OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define OPSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include "grpcpp/server_context.h"
#include "server/access/call_proof.h"
#include "server/base/clock.h"

namespace opserve {

// What the sender of the call shows. Its views live as long as `context`. `has_certificates`:
// whether connections may have certificates of clients.
CallProof ProofOf(const grpc::ServerContext& context, bool has_certificates);

// When the call must be done, by SteadyClock(); kNever if it has no deadline.
Clock::TimePoint DeadlineOf(const grpc::ServerContext& context);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
