#include "tests/bench/wire/peer.h"

#include "tests/bench/wire/echo.grpc.pb.h"
#include "tests/bench/wire/spoil.h"

namespace opserve::wire_bench {
namespace {

constexpr char kMethod[] = "/opserve.wire_bench.Echo/Echo";

class ProtoSync : public Echo::Service {
  grpc::Status Echo(grpc::ServerContext* /*context*/, const EchoMessage* request,
                    EchoMessage* response) override {
    response->set_payload(request->payload());
    return grpc::Status::OK;
  }
};

class ProtoCallback : public Echo::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const EchoMessage* request,
                                 EchoMessage* response) override {
    response->set_payload(request->payload());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class RawCallback : public Echo::WithRawCallbackMethod_Echo<Echo::Service> {
 public:
  explicit RawCallback(bool spoil) : spoil_(spoil) {}

 private:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override {
    *response = *request;
    if (spoil_) Spoil(*response);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const bool spoil_;
};

class RawSync : public grpc::Service {
 public:
  explicit RawSync(bool spoil) {
    AddMethod(RawSyncMethod(kMethod, *this,
                            [spoil](const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
                              response = request;
                              if (spoil) Spoil(response);
                              return grpc::Status::OK;
                            }));
  }
};

}  // namespace

const std::vector<std::string>& PeerStyles() {
  static const auto* const kStyles = new std::vector<std::string>{
      "proto-cq", "proto-callback", "proto-sync",       "raw-cq",      "raw-callback",
      "raw-sync", "raw-chunked",    "execute-callback", "execute-sync"};
  return *kStyles;
}

std::unique_ptr<Peer> MakePeer(const std::string& style, bool spoil) {
  if (style == "proto-cq") return MakeProtoQueuePeer();
  if (style == "proto-callback") return std::make_unique<ServicePeer<ProtoCallback>>();
  if (style == "proto-sync") return std::make_unique<ServicePeer<ProtoSync>>();
  if (style == "raw-callback") return std::make_unique<ServicePeer<RawCallback>>(spoil);
  if (style == "raw-sync") return std::make_unique<ServicePeer<RawSync>>(spoil);
  if (style == "raw-chunked") return MakeChunkedPeer(spoil);
  if (style == "execute-callback") return MakeExecuteCallbackPeer();
  if (style == "execute-sync") return MakeExecuteSyncPeer();
  return MakeRawQueuePeer(spoil);
}

}  // namespace opserve::wire_bench
