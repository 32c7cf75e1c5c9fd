#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/async_unary_call.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/clock.h"
#include "client/base/message_feed.h"
#include "client/base/status_details.h"
#include "client/rpc/channel.h"
#include "client/rpc/client_name.h"
#include "client/rpc/client_poller.h"
#include "client/rpc/connection_errors.h"
#include "client/rpc/connections.h"
#include "client/rpc/force_release.h"
#include "client/rpc/grpc_stream.h"
#include "client/rpc/hosts.h"
#include "client/rpc/missing_answer.h"
#include "client/rpc/transport.h"
#include "client/rpc/watchdog.h"
#include "opserve/errors.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"

namespace opserve::client_internal {
namespace {

using grpc::internal::RpcMethod;

// Usually another thread is just about to release them.
constexpr absl::Duration kShortGrace = absl::Milliseconds(1);

// How long a call may last beyond its time where no memory of its caller is lent for so long, until
// the connection is shut down.
constexpr absl::Duration kLongGrace = absl::Seconds(1);

absl::Duration GraceOf(PayloadHold& hold) { return hold.IsReleased() ? kLongGrace : kGrace; }

// gRPC writes the length of a message in 32 bits, and would send a part of a larger one.
absl::Status CheckSize(const OutgoingMessage& message) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  const uint64_t bytes = MostBytes(message);
  if (bytes <= kMost) return absl::OkStatus();
  return MakeClientError(absl::StatusCode::kResourceExhausted,
                         absl::StrCat("the request has ", bytes, " bytes, and a message has ",
                                      kMost, " at most; streams take larger tensors"),
                         kRequestTooLarge);
}

// What became of an attempt that gRPC ended with `status`; its answer, if there is one, is in
// `response` then.
absl::Status OutcomeOf(const grpc::Status& status, const grpc::ClientContext& context,
                       bool is_cancelled, const ClientConnection& connection,
                       grpc::ByteBuffer& received, ResponseMessage& response) {
  if (LacksAnswer(status, received)) {
    return MissingAnswer(context.deadline(), std::chrono::system_clock::now(), is_cancelled);
  }
  return status.ok() ? response.Read(received) : ErrorOf(status, connection);
}

// `failure`, with the host that it is of.
absl::Status WithHost(absl::Status failure, const std::string& peer,
                      const ClientConnection& connection) {
  SetErrorHost(failure, peer.empty() ? connection.target : peer);
  return failure;
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const std::vector<std::string>& addresses, const ClientOptions& options,
                std::vector<std::shared_ptr<ClientPoller>> pollers)
      : pollers_(std::move(pollers)),
        hosts_(addresses,
               [this, options](const std::string& address, bool is_among_several) {
                 auto connections = MakeConnections(address, options, is_among_several);
                 for (size_t i = 0; i < connections.size(); ++i) {
                   connections[i].poller = pollers_[i % pollers_.size()].get();
                 }
                 return connections;
               }),
        client_name_(options.client_name) {
    if (!options.bearer_token.empty()) authorization_ = "Bearer " + options.bearer_token;
  }

  absl::Status Call(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                    ResponseMessage& response, Route& route) override {
    absl::Status checked = CheckSize(request);
    if (!checked.ok()) return checked;
    PayloadHold hold;
    const ClientConnection& connection = hosts_.Begin(request.host, route);
    absl::Status status = CallOnce(method, request, timeout, connection, hold, response);
    End(connection, status, request.host, route);
    // Most calls end here.
    if (hold.IsReleased() || hold.WaitFor(kShortGrace)) return status;
    if (!WorkUntilReleased(hold, kGrace)) {
      while (!ForceRelease(hold, connection)) continue;
    }
    return status;
  }

  void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                 ResponseMessage& response, Route& route, Cancellation& cancellation,
                 std::function<void(absl::Status)> done) override {
    const absl::Status checked = CheckSize(request);
    if (!checked.ok()) return done(checked);
    const auto attempt = std::make_shared<Attempt>(*this, hosts_.Begin(request.host, route),
                                                   response, std::move(done));
    attempt->route = &route;
    attempt->host = request.host;
    attempt->is_of_several = hosts_.has_several();
    const grpc::ByteBuffer sent = Compose(request, *attempt->hold);
    grpc::ClientContext* const context = attempt->Begin(MakeContext(timeout), watchdog_, timeout);
    // Before the start: once that is made, the attempt may be over, and another one be under way.
    cancellation.OnCancel([this, attempt] { attempt->Cancel(watchdog_); });
    attempt->Start(method, sent, context);
  }

  std::unique_ptr<RawStream> OpenStream(const char* method, absl::Duration timeout,
                                        const std::string& host, Route& route) override {
    const ClientConnection& connection = hosts_.Begin(host, route);
    return MakeGrpcStream(method, timeout, MakeContext(timeout), hosts_, host, connection,
                          watchdog_);
  }

  bool HasSeveralHosts() const override { return hosts_.has_several(); }
  void LearnHost(size_t number, const std::string& host) override { hosts_.Learn(number, host); }
  std::string LocalHost() const override { return hosts_.local(); }

 private:
  // An attempt in progress, which keeps itself until its end.
  struct Attempt final : CompletionTag, std::enable_shared_from_this<Attempt> {
    Attempt(GrpcTransport& owner, const ClientConnection& on, ResponseMessage& answer,
            std::function<void(absl::Status)> then)
        : transport(owner), connection(on), response(answer), done(std::move(then)) {}

    grpc::ClientContext* Begin(std::unique_ptr<grpc::ClientContext> made, Watchdog& watchdog,
                               absl::Duration timeout) {
      const MutexLock lock(mutex);
      context = std::move(made);
      Watch(watchdog, timeout);
      return context.get();
    }

    void Start(const char* method, const grpc::ByteBuffer& sent, grpc::ClientContext* on) {
      self = shared_from_this();
      connection.poller->Begin();
      reader.reset(grpc::internal::ClientAsyncResponseReaderHelper::Create<grpc::ByteBuffer>(
          connection.channel.get(), connection.poller->queue(),
          RpcMethod(method, RpcMethod::NORMAL_RPC), on, sent));
      reader->StartCall();
      hand_over.Give();
      reader->Finish(&received, &status, static_cast<CompletionTag*>(this));
    }

    void OnEvent(bool /*ok*/) override {
      hand_over.Take();
      connection.poller->End();
      const std::shared_ptr<Attempt> held = std::move(self);
      transport.OnEnd(*this);
    }

    // As GrpcTransport::Watch, until the end.
    void Watch(Watchdog& watchdog, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      watches.push_back(GrpcTransport::Watch(watchdog, *hold, timeout, connection));
    }

    void Cancel(Watchdog& watchdog) {
      const MutexLock lock(mutex);
      if (context == nullptr) return;
      is_cancelled = true;
      context->TryCancel();
      Watch(watchdog, absl::ZeroDuration());
    }

    // It is over: gives the context up and calls the watches off. Its outcome.
    absl::Status End(Watchdog& watchdog) {
      const MutexLock lock(mutex);
      for (const Watchdog::Key& watch : watches) watchdog.Cancel(watch);
      absl::Status outcome =
          OutcomeOf(status, *context, is_cancelled, connection, received, response);
      if (is_of_several && !outcome.ok()) {
        outcome = WithHost(std::move(outcome), context->peer(), connection);
      }
      reader.reset();
      // It has a share of the channel. Were that the last one, because the caller gives the client
      // up as soon as it has its answer, gRPC would join the thread that this runs in.
      context.reset();
      return outcome;
    }

    GrpcTransport& transport;
    const ClientConnection& connection;
    ResponseMessage& response;
    Route* route = nullptr;
    std::string host;
    bool is_of_several = false;
    std::function<void(absl::Status)> done;
    std::shared_ptr<PayloadHold> hold = std::make_shared<PayloadHold>();
    grpc::ByteBuffer received;
    grpc::Status status;
    std::shared_ptr<Attempt> self;  // while the call is under way
    HandOver hand_over;             // of the call, to the poller's thread
    Mutex mutex;
    // Until the end.
    std::unique_ptr<grpc::ClientContext> context ABSL_GUARDED_BY(mutex);
    // Lies in memory of the context.
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    bool is_cancelled ABSL_GUARDED_BY(mutex) = false;
    std::vector<Watchdog::Key> watches ABSL_GUARDED_BY(mutex);
  };

  absl::Status CallOnce(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                        const ClientConnection& connection, PayloadHold& hold,
                        ResponseMessage& response) {
    const grpc::ByteBuffer sent = Compose(request, hold);
    grpc::ByteBuffer received;
    const std::unique_ptr<grpc::ClientContext> context = MakeContext(timeout);
    const Watchdog::Key watch = Watch(watchdog_, hold, timeout, connection);
    const RpcMethod rpc(method, RpcMethod::NORMAL_RPC);
    const grpc::Status status =
        request.feed != nullptr
            ? CallAndFeed(rpc, *request.feed, connection, *context, sent, received)
            : grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
                  connection.channel.get(), rpc, context.get(), sent, &received);
    watchdog_.Cancel(watch);
    absl::Status outcome =
        OutcomeOf(status, *context, /*is_cancelled=*/false, connection, received, response);
    if (outcome.ok() || !hosts_.has_several()) return outcome;
    return WithHost(std::move(outcome), context->peer(), connection);
  }

  // What BlockingUnaryCall does, and feeds the message meanwhile.
  static grpc::Status CallAndFeed(const RpcMethod& method, MessageFeed& feed,
                                  const ClientConnection& connection, grpc::ClientContext& context,
                                  const grpc::ByteBuffer& sent, grpc::ByteBuffer& received) {
    grpc::CompletionQueue queue;
    grpc::Status status;
    feed.Begin();
    const std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader(
        grpc::internal::ClientAsyncResponseReaderHelper::Create<grpc::ByteBuffer>(
            connection.channel.get(), &queue, method, &context, sent));
    reader->StartCall();
    reader->Finish(&received, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    const auto is_over = [&](gpr_timespec until) {
      return queue.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT;
    };
    auto progress = MessageFeed::Progress::kFed;
    while (progress != MessageFeed::Progress::kDone) {
      progress = feed.Feed();
      // Perhaps the server has refused the call. Nobody else may poll for the answer.
      if (progress == MessageFeed::Progress::kStalled && is_over(gpr_time_0(GPR_CLOCK_REALTIME))) {
        return status;
      }
    }
    is_over(gpr_inf_future(GPR_CLOCK_REALTIME));
    return status;
  }

  // gRPC ends no call, not even one whose deadline has passed, while it waits for the socket to
  // take what it is writing, be it of another call. Shutting the connection down ends that.
  static Watchdog::Key Watch(Watchdog& watchdog, PayloadHold& hold, absl::Duration timeout,
                             const ClientConnection& connection) {
    return watchdog.RunAfter(timeout + GraceOf(hold),
                             [&connection] { connection.sockets->ShutDown(); });
  }

  // Of an attempt that is over, which was for `host`.
  void End(const ClientConnection& connection, const absl::Status& outcome, absl::string_view host,
           Route& route) {
    if (!outcome.ok()) connection.watch->OnFailure();
    hosts_.End(connection);
    if (!outcome.ok()) hosts_.Judge(outcome, host, route);
  }

  // On a poller's thread, which must not block.
  void OnEnd(Attempt& attempt) {
    const absl::Status outcome = attempt.End(watchdog_);
    const ClientConnection& connection = attempt.connection;
    End(connection, outcome, attempt.host, *attempt.route);
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
    if (timeout < kLongestTime) {
      context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
    }
    if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
    if (!client_name_.empty()) context->AddMetadata(kClientNameKey, client_name_);
    return context;
  }

  const std::vector<std::shared_ptr<ClientPoller>> pollers_;
  Hosts hosts_;
  Watchdog watchdog_;  // goes first: its actions need connections
  const std::string client_name_;
  std::string authorization_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options) {
  const absl::StatusOr<std::vector<std::string>> addresses = CheckOptions(target, options);
  if (!addresses.ok()) return addresses.status();
  absl::StatusOr<std::vector<std::shared_ptr<ClientPoller>>> pollers =
      ClientPoller::ForChannels(options.channels);
  if (!pollers.ok()) return pollers.status();
  try {
    return std::make_unique<GrpcTransport>(*addresses, options, *std::move(pollers));
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError("the system has no thread left for the client");
  }
}

}  // namespace opserve::client_internal
