// File: tests/bench/wire/peer.h
//
// Services in gRPC's styles, to compare what a call costs in each.

#ifndef OPSERVE_TESTS_BENCH_WIRE_PEER_H_
#define OPSERVE_TESTS_BENCH_WIRE_PEER_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/server_builder.h"
#include "grpcpp/support/method_handler.h"

namespace opserve::wire_bench {

// A service. Register, build the server, Start; shut the server down, Stop.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void Register(grpc::ServerBuilder& builder) = 0;
  // Begins to take calls.
  virtual void Start() {}
  // Ends the threads that Start made.
  virtual void Stop() {}
};

// A peer that is a gRPC service and needs nothing else.
template <class Service>
class ServicePeer : public Peer {
 public:
  template <class... Args>
  explicit ServicePeer(Args... args) : service_(args...) {}
  void Register(grpc::ServerBuilder& builder) override { builder.RegisterService(&service_); }

 private:
  Service service_;
};

// A synchronous method of `service` that takes and returns bytes, for its AddMethod, which takes it
// over. The generated code has none; this is what it would look like.
template <class Service, class Function>
grpc::internal::RpcServiceMethod* RawSyncMethod(const char* name, Service& service,
                                                Function answer) {
  using Handler = grpc::internal::RpcMethodHandler<Service, grpc::ByteBuffer, grpc::ByteBuffer>;
  return new grpc::internal::RpcServiceMethod(
      name, grpc::internal::RpcMethod::NORMAL_RPC,
      new Handler([answer](Service*, grpc::ServerContext*, const grpc::ByteBuffer* request,
                           grpc::ByteBuffer* response) { return answer(*request, *response); },
                  &service));
}

// What MakePeer knows: "proto-cq", "proto-callback", "proto-sync": generated messages; "raw-cq",
// "raw-callback", "raw-sync": bytes as they came; "raw-chunked": messages of a stream, each as it
// comes; "execute-callback", "execute-sync": no echo, but what the server does for Execute.
const std::vector<std::string>& PeerStyles();

// A peer of one of PeerStyles(). With `spoil`, which only raw styles know, one bit of every answer
// is wrong: a client that checks its answers must notice.
std::unique_ptr<Peer> MakePeer(const std::string& style, bool spoil);

// The styles with completion queues: one thread polls.
std::unique_ptr<Peer> MakeProtoQueuePeer();
std::unique_ptr<Peer> MakeRawQueuePeer(bool spoil);
std::unique_ptr<Peer> MakeChunkedPeer(bool spoil);

// Execute, as the server would do it with gRPC's callback or synchronous API.
std::unique_ptr<Peer> MakeExecuteCallbackPeer();
std::unique_ptr<Peer> MakeExecuteSyncPeer();

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_PEER_H_
