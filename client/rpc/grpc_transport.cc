#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "client/rpc/channel.h"
#include "client/rpc/client_name.h"
#include "client/rpc/connections.h"
#include "client/rpc/force_release.h"
#include "client/rpc/grpc_status.h"
#include "client/rpc/grpc_stream.h"
#include "client/rpc/transport.h"
#include "client/rpc/watchdog.h"

namespace opserve::client_internal {
namespace {

using grpc::internal::RpcMethod;

// Usually another thread is just about to release them.
constexpr absl::Duration kShortGrace = absl::Milliseconds(1);

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(absl::string_view target, const ClientOptions& options)
      : connections_(MakeConnections(target, options)), client_name_(options.client_name) {
    if (!options.bearer_token.empty()) authorization_ = "Bearer " + options.bearer_token;
  }

  absl::Status Call(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                    ReceivedMessage& response) override {
    PayloadHold hold;
    const Connection& connection = connections_.Begin();
    absl::Status status = CallOnce(method, request, timeout, connection, hold, response);
    connections_.End(connection);
    // Most calls end here.
    if (hold.IsReleased() || hold.WaitFor(kShortGrace)) return status;
    if (!WorkUntilReleased(hold, kGrace)) {
      while (!ForceRelease(hold, connection)) continue;
    }
    return status;
  }

  void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                 ReceivedMessage& response, std::function<void(absl::Status)> done) override {
    const auto attempt = std::make_shared<Attempt>(
        Attempt{.connection = connections_.Begin(), .response = response, .done = std::move(done)});
    attempt->context = MakeContext(timeout);
    attempt->hold = std::make_shared<PayloadHold>();
    attempt->sent = Compose(request, *attempt->hold);
    attempt->watch = Watch(*attempt->hold, timeout, attempt->connection);
    grpc::internal::CallbackUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        attempt->connection.channel.get(), RpcMethod(method, RpcMethod::NORMAL_RPC),
        attempt->context.get(), &attempt->sent, &attempt->received,
        [this, attempt](const grpc::Status& status) { OnEnd(*attempt, status); });
  }

  std::unique_ptr<RawStream> OpenStream(const char* method, absl::Duration timeout) override {
    return MakeGrpcStream(method, timeout, MakeContext(timeout), connections_, watchdog_);
  }

 private:
  // An asynchronous attempt in progress.
  struct Attempt {
    const Connection& connection;
    ReceivedMessage& response;
    std::function<void(absl::Status)> done;
    std::unique_ptr<grpc::ClientContext> context = {};
    std::shared_ptr<PayloadHold> hold = {};
    std::optional<Watchdog::Key> watch = {};
    grpc::ByteBuffer sent = {};
    grpc::ByteBuffer received = {};
  };

  absl::Status CallOnce(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                        const Connection& connection, PayloadHold& hold,
                        ReceivedMessage& response) {
    const grpc::ByteBuffer sent = Compose(request, hold);
    grpc::ByteBuffer received;
    const std::unique_ptr<grpc::ClientContext> context = MakeContext(timeout);
    const std::optional<Watchdog::Key> watch = Watch(hold, timeout, connection);
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            connection.channel.get(), RpcMethod(method, RpcMethod::NORMAL_RPC), context.get(), sent,
            &received);
    if (watch) watchdog_.Cancel(*watch);
    return status.ok() ? response.Read(received) : ToAbsl(status);
  }

  // gRPC ends no call, not even one whose deadline has passed, while it waits for the socket to
  // take what it is writing. Shutting the connection down ends that.
  std::optional<Watchdog::Key> Watch(PayloadHold& hold, absl::Duration timeout,
                                     const Connection& connection) {
    if (hold.IsReleased()) return std::nullopt;
    return watchdog_.RunAfter(timeout + kGrace, [&connection] { connection.sockets->ShutDown(); });
  }

  // On a thread of gRPC, which must not block.
  void OnEnd(Attempt& attempt, const grpc::Status& status) {
    if (attempt.watch) watchdog_.Cancel(*attempt.watch);
    attempt.sent.Clear();
    // It has a share of the channel. Were that the last one, because the caller gives the client up
    // as soon as it has its answer, gRPC would join the thread that this runs in.
    attempt.context.reset();
    const Connection& connection = attempt.connection;
    connections_.End(connection);
    absl::Status outcome = status.ok() ? attempt.response.Read(attempt.received) : ToAbsl(status);
    const std::shared_ptr<PayloadHold> hold = std::move(attempt.hold);
    const std::function<void(absl::Status)> done = std::move(attempt.done);
    if (hold->IsReleased()) return done(outcome);
    ForceReleaseLater(watchdog_, hold, connection);
    // What releases the hold may be in the midst of things, so `done` runs elsewhere.
    hold->OnRelease([this, done, outcome] {
      watchdog_.RunAfter(absl::ZeroDuration(), [done, outcome] { done(outcome); });
    });
  }

  std::unique_ptr<grpc::ClientContext> MakeContext(absl::Duration timeout) const {
    auto context = std::make_unique<grpc::ClientContext>();
    if (timeout != absl::InfiniteDuration()) {
      context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
    }
    if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
    if (!client_name_.empty()) context->AddMetadata(kClientNameKey, client_name_);
    return context;
  }

  Connections connections_;
  Watchdog watchdog_;  // goes first: its actions need connections_
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
