#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <future>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/client_name.h"
#include "client/status_details.h"
#include "client/transport.h"
#include "opserve/v1/operator_service.grpc.pb.h"

namespace opserve::client_internal {
namespace {

// Wrappers are wire-compatible with grpc.health.v1: field 1 is the service's name in the request,
// the status in the response. They spare a second registration of the health messages.
using HealthStub =
    grpc::TemplatedGenericStub<google::protobuf::StringValue, google::protobuf::Int32Value>;

absl::Status ToAbsl(const grpc::Status& status) {
  return MakeStatus(status.error_code(), status.error_message(), status.error_details());
}

// Whether the server is on this machine, as far as the target tells.
bool IsLocal(absl::string_view target) {
  for (absl::string_view prefix : {"unix:", "localhost:", "127.", "[::1]:"}) {
    if (absl::StartsWith(target, prefix)) return true;
  }
  return false;
}

absl::Status CheckOptions(absl::string_view target, const ClientOptions& options) {
  // gRPC would quietly take port 443.
  if (!absl::StrContains(target, ':')) {
    return absl::InvalidArgumentError(
        absl::StrCat("target '", target, "' is neither host:port nor unix:/path"));
  }
  if (!options.bearer_token.empty() && !options.tls && !IsLocal(target)) {
    return absl::InvalidArgumentError(absl::StrCat("a bearer token for ", target,
                                                   " needs TLS: it must not travel in plain text"));
  }
  if (options.tls && options.tls->client_certificate.empty() != options.tls->client_key.empty()) {
    return absl::InvalidArgumentError("a TLS client certificate and its key go together");
  }
  return CheckClientName(options.client_name);
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 0, INT_MAX));
}

grpc::ChannelArguments MakeArguments(absl::string_view target, const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("opserve-client/" OPSERVE_VERSION);
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  // RetryPolicy is in charge: gRPC must neither retry by itself nor hold back reconnects for longer
  // than the policy's own waits.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(options.retry.max_backoff));
  if (IsLocal(target)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (options.tls && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  }
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const ClientOptions& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = options.tls->root_certificates;
  ssl.pem_cert_chain = options.tls->client_certificate;
  ssl.pem_private_key = options.tls->client_key;
  return grpc::SslCredentials(ssl);
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options)
      : stub_(v1::OperatorService::NewStub(channel)),
        health_(channel),
        client_name_(options.client_name) {
    if (!options.bearer_token.empty()) authorization_ = "Bearer " + options.bearer_token;
  }

  absl::Status Execute(const v1::ExecuteRequest& request, absl::Duration timeout,
                       v1::ExecuteResponse& response) override {
    grpc::ClientContext context;
    Prepare(context, timeout);
    return ToAbsl(stub_->Execute(&context, request, &response));
  }

  void ExecuteAsync(const v1::ExecuteRequest& request, absl::Duration timeout,
                    v1::ExecuteResponse& response,
                    std::function<void(absl::Status)> done) override {
    const auto context = std::make_shared<grpc::ClientContext>();
    Prepare(*context, timeout);
    stub_->async()->Execute(
        context.get(), &request, &response,
        [held = context, done = std::move(done)](const grpc::Status& status) mutable {
          // It has a share of the channel. Were that the last one, because the caller gives the
          // client up as soon as it has its answer, gRPC would join the thread that this runs in.
          held.reset();
          done(ToAbsl(status));
        });
  }

  absl::Status ListOperators(const v1::ListOperatorsRequest& request, absl::Duration timeout,
                             v1::ListOperatorsResponse& response) override {
    grpc::ClientContext context;
    Prepare(context, timeout);
    return ToAbsl(stub_->ListOperators(&context, request, &response));
  }

  absl::Status GetServerInfo(const v1::GetServerInfoRequest& request, absl::Duration timeout,
                             v1::GetServerInfoResponse& response) override {
    grpc::ClientContext context;
    Prepare(context, timeout);
    return ToAbsl(stub_->GetServerInfo(&context, request, &response));
  }

  absl::Status SelfTestDevices(const v1::SelfTestDevicesRequest& request, absl::Duration timeout,
                               v1::SelfTestDevicesResponse& response) override {
    grpc::ClientContext context;
    Prepare(context, timeout);
    return ToAbsl(stub_->SelfTestDevices(&context, request, &response));
  }

  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service,
                                           absl::Duration timeout) override {
    grpc::ClientContext context;
    Prepare(context, timeout);
    google::protobuf::StringValue request;
    request.set_value(std::string(service));
    google::protobuf::Int32Value response;
    // Shared, because the thread that sets it may still be about it when this one goes on.
    const auto done = std::make_shared<std::promise<absl::Status>>();
    health_.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request,
                      &response,
                      [done](const grpc::Status& outcome) { done->set_value(ToAbsl(outcome)); });
    const absl::Status status = done->get_future().get();
    if (!status.ok()) return status;
    const bool known = response.value() == 1 || response.value() == 2;
    return known ? static_cast<HealthStatus>(response.value()) : HealthStatus::kUnknown;
  }

 private:
  void Prepare(grpc::ClientContext& context, absl::Duration timeout) const {
    if (timeout != absl::InfiniteDuration()) {
      context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
    }
    if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
    if (!client_name_.empty()) context.AddMetadata(kClientNameKey, client_name_);
  }

  std::unique_ptr<v1::OperatorService::Stub> stub_;
  HealthStub health_;
  const std::string client_name_;
  std::string authorization_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options) {
  const absl::Status checked = CheckOptions(target, options);
  if (!checked.ok()) return checked;
  return std::make_unique<GrpcTransport>(
      grpc::CreateCustomChannel(std::string(target), MakeCredentials(options),
                                MakeArguments(target, options)),
      options);
}

}  // namespace opserve::client_internal
