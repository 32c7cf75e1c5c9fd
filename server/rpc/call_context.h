// File: server/rpc/call_context.h
//
// What gRPC tells of a call, in the terms of the server: what its sender shows, and when it must be
// done. Stateless; to be used by one thread at a time for each call.

#ifndef OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define OPSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "grpc/support/time.h"
#include "grpcpp/server_context.h"
#include "server/access/caller.h"
#include "server/base/clock.h"
#include "server/edge/peer_identity.h"
#include "server/record/request_record.h"

namespace opserve {

// What the sender of the call shows. Its views live as long as `context`. `peer`: what the context
// calls the other end. `has_certificates`: whether connections may have certificates of clients.
CallProof ProofOf(const grpc::ServerContext& context, absl::string_view peer,
                  bool has_certificates);

// The metadata `traceparent` of the call; empty where there is none, or more than one.
std::string TraceParentOf(const grpc::ServerContext& context);

// Where a call comes from, for whoever hears of its end. Both must outlive the object.
class CallSource final : public RequestSource {
 public:
  CallSource(const grpc::ServerContext& context, const Caller& caller)
      : context_(context), caller_(caller) {}
  // Who was turned away is called by the other end of the connection.
  std::string client() const override {
    return caller_.client().empty() ? IdentityOf(context_.peer()).Host() : caller_.client();
  }
  std::string traceparent() const override { return TraceParentOf(context_); }

 private:
  const grpc::ServerContext& context_;
  const Caller& caller_;
};

// `time`, by any of gRPC's clocks, as one of the server's clock; Clock::kNever where it is beyond
// that. `grpc_now`: what gRPC's GPR_CLOCK_MONOTONIC says at `now`. The two clocks need not begin at
// the same time: on Linux they do, and on Windows gRPC's begins with the process.
Clock::TimePoint TimeOf(gpr_timespec time, gpr_timespec grpc_now, Clock::TimePoint now);

// When the call must be done, by SteadyClock(); kNever if it has no deadline.
Clock::TimePoint DeadlineOf(const grpc::ServerContext& context);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
