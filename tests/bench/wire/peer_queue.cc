// Echo services on a completion queue that one thread polls.

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "grpcpp/server_context.h"
#include "grpcpp/support/async_unary_call.h"
#include "tests/bench/wire/echo.grpc.pb.h"
#include "tests/bench/wire/peer.h"
#include "tests/bench/wire/spoil.h"

namespace opserve::wire_bench {
namespace {

using RawService = Echo::WithRawMethod_Echo<Echo::Service>;

void Answer(const EchoMessage& request, bool /*spoil*/, EchoMessage& response) {
  response.set_payload(request.payload());
}

void Answer(const grpc::ByteBuffer& request, bool spoil, grpc::ByteBuffer& response) {
  response = request;
  if (spoil) Spoil(response);
}

// One call after the other.
template <class Service, class Message>
class Call {
 public:
  Call(Service& service, grpc::ServerCompletionQueue& queue, bool spoil)
      : service_(service), queue_(queue), spoil_(spoil) {}

  // Waits for the next call.
  void Request() {
    answered_ = false;
    responder_.reset();
    context_.emplace();
    request_ = Message();
    responder_.emplace(&*context_);
    service_.RequestEcho(&*context_, &request_, &*responder_, &queue_, &queue_, this);
  }

  // The call has come, or its answer has been sent. Returns false when no more calls come.
  bool Proceed(bool ok) {
    if (answered_) {
      Request();
      return true;
    }
    if (!ok) return false;
    answered_ = true;
    Message response;
    Answer(request_, spoil_, response);
    responder_->Finish(response, grpc::Status::OK, this);
    return true;
  }

 private:
  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  const bool spoil_;
  bool answered_ = false;
  Message request_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<Message>> responder_;
};

template <class Service, class Message>
class QueuePeer : public Peer {
 public:
  explicit QueuePeer(bool spoil) : spoil_(spoil) {}

  void Register(grpc::ServerBuilder& builder) override {
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
  }

  void Start() override {
    // As many calls can be taken at once.
    constexpr int kCalls = 64;
    for (int i = 0; i < kCalls; ++i) {
      calls_.push_back(std::make_unique<Call<Service, Message>>(service_, *queue_, spoil_));
      calls_.back()->Request();
    }
    poller_ = std::thread([this] { Poll(); });
  }

  void Stop() override { poller_.join(); }

 private:
  void Poll() {
    size_t waiting = calls_.size();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      if (static_cast<Call<Service, Message>*>(tag)->Proceed(ok)) continue;
      if (--waiting == 0) queue_->Shutdown();
    }
  }

  const bool spoil_;
  Service service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<Call<Service, Message>>> calls_;
  std::thread poller_;
};

}  // namespace

std::unique_ptr<Peer> MakeProtoQueuePeer() {
  return std::make_unique<QueuePeer<Echo::AsyncService, EchoMessage>>(false);
}

std::unique_ptr<Peer> MakeRawQueuePeer(bool spoil) {
  return std::make_unique<QueuePeer<RawService, grpc::ByteBuffer>>(spoil);
}

}  // namespace opserve::wire_bench
