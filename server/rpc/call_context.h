// File: server/rpc/call_context.h
//
// What gRPC tells of a call, in the terms of the server: who sends it, for fairness between
// clients, and when it must be done. Stateless; to be used by one thread at a time for each call.

#ifndef OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define OPSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "server/base/clock.h"
#include "server/record/request_record.h"

namespace opserve {

// The metadata by which clients give themselves a name.
inline constexpr char kClientNameKey[] = "opserve-client";
// What of a name is used, in bytes.
inline constexpr size_t kMaxClientNameBytes = 128;

// The client behind a call: its host, and the name it gives itself if any ("10.0.0.7/runner-3"). On
// a socket file the user takes the place of the host ("uid:1000/runner-3"). All connections of one
// host without a name are one client. `peer`: as gRPC tells it, such as "ipv4:10.0.0.7:41234". A
// name is no credential: whoever takes many gets many shares and quotas, and whoever takes that of
// another program of the host has its resident tensors.
std::string ClientIdentity(absl::string_view peer, absl::string_view name);

// The same for the caller.
std::string ClientOf(const grpc::ServerContext& context);

// The metadata `traceparent` of the call; empty where there is none, or more than one.
std::string TraceParentOf(const grpc::ServerContext& context);

// Both of a call, for whoever hears of its end. The context must outlive the object.
class CallSource final : public RequestSource {
 public:
  explicit CallSource(const grpc::ServerContext& context) : context_(context) {}
  std::string client() const override { return ClientOf(context_); }
  std::string traceparent() const override { return TraceParentOf(context_); }

 private:
  const grpc::ServerContext& context_;
};

// When the call must be done, by SteadyClock(); kNever if it has no deadline.
Clock::TimePoint DeadlineOf(const grpc::ServerContext& context);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_CALL_CONTEXT_H_
