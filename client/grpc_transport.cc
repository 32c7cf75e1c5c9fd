#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "client/channel.h"
#include "client/client_name.h"
#include "client/clock.h"
#include "client/connections.h"
#include "client/status_details.h"
#include "client/transport.h"

namespace opserve::client_internal {
namespace {

using grpc::internal::RpcMethod;

// How long gRPC may keep the payloads of a call that has ended, until their connection is given up.
constexpr absl::Duration kGrace = absl::Milliseconds(100);
// Usually another thread is just about to release them.
constexpr absl::Duration kShortGrace = absl::Milliseconds(1);

absl::Status ToAbsl(const grpc::Status& status, bool was_connection_given_up) {
  if (status.error_code() == grpc::StatusCode::CANCELLED && was_connection_given_up) {
    return absl::UnavailableError("the connection did not move and was given up");
  }
  return MakeStatus(status.error_code(), status.error_message(), status.error_details());
}

// Waits for the release of payloads and does gRPC's work meanwhile: without a call in progress
// nobody else may be there to write what waits for the socket.
bool WorkUntilReleased(PayloadHold& hold, absl::Duration limit) {
  constexpr auto kStep = std::chrono::milliseconds(2);
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  while (!hold.IsReleased() && std::chrono::steady_clock::now() < end) {
    queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kStep);
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return hold.IsReleased();
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(absl::string_view target, const ClientOptions& options)
      : clock_(MakeSteadyClock()),
        connections_(
            options.channels,
            [target = std::string(target), options] { return MakeChannel(target, options); },
            *clock_),
        client_name_(options.client_name) {
    if (!options.bearer_token.empty()) authorization_ = "Bearer " + options.bearer_token;
  }

  // What the clock still has to do needs the connections.
  ~GrpcTransport() override { clock_.reset(); }

  absl::Status Call(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                    ReceivedMessage& response) override {
    PayloadHold hold;
    const auto [status, connection] = CallOnce(method, request, timeout, hold, response);
    if (hold.WaitFor(absl::ZeroDuration()) || hold.WaitFor(kShortGrace)) return status;
    if (!WorkUntilReleased(hold, kGrace)) {
      connections_.GiveUp(connection);
      hold.WaitFor(absl::InfiniteDuration());
    }
    return status;
  }

  void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                 ReceivedMessage& response, std::function<void(absl::Status)> done) override {
    const auto attempt = std::make_shared<Attempt>(Attempt{
        .call = connections_.Begin(MakeContext(timeout)), .response = response, .done = done});
    attempt->hold = std::make_shared<PayloadHold>();
    attempt->sent = Compose(request, *attempt->hold);
    grpc::internal::CallbackUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        attempt->call.channel, RpcMethod(method, RpcMethod::NORMAL_RPC),
        attempt->call.context.get(), &attempt->sent, &attempt->received,
        [this, attempt](const grpc::Status& status) { OnEnd(*attempt, status); });
  }

 private:
  // An asynchronous attempt in progress.
  struct Attempt {
    Connections::Call call;
    ReceivedMessage& response;
    std::function<void(absl::Status)> done;
    std::shared_ptr<PayloadHold> hold = {};
    grpc::ByteBuffer sent = {};
    grpc::ByteBuffer received = {};
  };

  // Returns the outcome and the connection.
  std::pair<absl::Status, uint64_t> CallOnce(const char* method, const OutgoingMessage& request,
                                             absl::Duration timeout, PayloadHold& hold,
                                             ReceivedMessage& response) {
    const grpc::ByteBuffer sent = Compose(request, hold);
    grpc::ByteBuffer received;
    Connections::Call call = connections_.Begin(MakeContext(timeout));
    const uint64_t connection = call.connection;
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            call.channel, RpcMethod(method, RpcMethod::NORMAL_RPC), call.context.get(), sent,
            &received);
    const bool was_given_up = connections_.End(std::move(call));
    return {Finish(status, was_given_up, received, response), connection};
  }

  // On a thread of gRPC, which must not block.
  void OnEnd(Attempt& attempt, const grpc::Status& status) {
    attempt.sent.Clear();
    const uint64_t connection = attempt.call.connection;
    const bool was_given_up = connections_.End(std::move(attempt.call));
    absl::Status outcome = Finish(status, was_given_up, attempt.received, attempt.response);
    const std::shared_ptr<PayloadHold> hold = std::move(attempt.hold);
    const std::function<void(absl::Status)> done = std::move(attempt.done);
    if (hold->IsReleased()) return done(outcome);
    // What releases the hold may be in the midst of things, so `done` runs elsewhere.
    clock_->RunAfter(kGrace, [this, hold, connection] {
      if (!hold->IsReleased()) connections_.GiveUp(connection);
    });
    hold->OnRelease([this, done, outcome] {
      clock_->RunAfter(absl::ZeroDuration(), [done, outcome] { done(outcome); });
    });
  }

  static absl::Status Finish(const grpc::Status& status, bool was_given_up,
                             grpc::ByteBuffer& received, ReceivedMessage& response) {
    if (!status.ok()) return ToAbsl(status, was_given_up);
    return response.Read(received);
  }

  std::shared_ptr<grpc::ClientContext> MakeContext(absl::Duration timeout) const {
    auto context = std::make_shared<grpc::ClientContext>();
    if (timeout != absl::InfiniteDuration()) {
      context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
    }
    if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
    if (!client_name_.empty()) context->AddMetadata(kClientNameKey, client_name_);
    return context;
  }

  std::unique_ptr<Clock> clock_;
  Connections connections_;
  const std::string client_name_;
  std::string authorization_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options) {
  const absl::Status checked = CheckOptions(target, options);
  if (!checked.ok()) return checked;
  return std::make_unique<GrpcTransport>(target, options);
}

}  // namespace opserve::client_internal
