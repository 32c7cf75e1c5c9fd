#include "client/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_details.h"
#include "client/rpc/client_name.h"
#include "client/rpc/pem.h"
#include "client/rpc/target.h"
#include "opserve/errors.h"
#include "proto/base/first_connection.h"

namespace opserve::client_internal {
namespace {

absl::Status InvalidOptions(absl::string_view message, absl::string_view reason = kInvalidOptions) {
  return MakeClientError(absl::StatusCode::kInvalidArgument, message, reason);
}

// gRPC fails on anything else only when it sends it.
bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool IsEncrypted(absl::string_view address, const ClientOptions& options) {
  return options.tls.has_value() && !IsSocketFile(address);
}

absl::Status CheckToken(absl::string_view target, const ClientOptions& options) {
  if (options.bearer_token.empty()) return absl::OkStatus();
  if (!IsPrintable(options.bearer_token)) {
    return InvalidOptions("a bearer token must be printable ASCII without spaces");
  }
  if (IsEncrypted(target, options) || IsLocal(target)) return absl::OkStatus();
  return InvalidOptions(
      absl::StrCat("a bearer token must not travel to ", target, " in plain text"), kTokenNeedsTls);
}

absl::Status CheckTls(const TlsOptions& tls) {
  const auto check = [](absl::string_view what, const std::string& text,
                        absl::Status (*holds)(const std::string&)) {
    const absl::Status status = text.empty() ? absl::OkStatus() : holds(text);
    return status.ok() ? status : InvalidOptions(absl::StrCat(what, " ", status.message()));
  };
  absl::Status status = check("root_certificates", tls.root_certificates, CheckCertificates);
  if (status.ok()) status = check("client_certificate", tls.client_certificate, CheckCertificates);
  if (status.ok()) status = check("client_key", tls.client_key, CheckKey);
  if (!status.ok()) return status;
  if (tls.client_certificate.empty() != tls.client_key.empty()) {
    return InvalidOptions("a TLS client certificate and its key go together");
  }
  if (tls.client_key.empty()) return status;
  status = CheckPair(tls.client_certificate, tls.client_key);
  return status.ok() ? status : InvalidOptions(status.message());
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 0, INT_MAX));
}

// Calls go to each address of a name in turn, but to none that says it is not healthy, or says
// nothing. gRPC reads https://github.com/grpc/grpc/blob/master/doc/service_config.md.
constexpr char kInTurn[] =
    R"({"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}})";
// How soon after a look-up a name is looked up again, when a host is lost.
constexpr int kLookUpPauseMs = 5000;

grpc::ChannelArguments MakeArguments(absl::string_view target, const ClientOptions& options,
                                     bool is_among_several) {
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
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(options.retry.max_backoff));
  // Or several channels to one server would share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (is_among_several) {
    arguments.SetServiceConfigJSON(kInTurn);
    arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kLookUpPauseMs);
    // How long an attempt to connect may take: a host that was cut off is to be tried again soon.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(options.keepalive_timeout));
  }
  if (IsLocal(target)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (IsEncrypted(target, options) && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  }
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(absl::string_view address,
                                                          const ClientOptions& options) {
  if (!IsEncrypted(address, options)) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = options.tls->root_certificates;
  ssl.pem_cert_chain = options.tls->client_certificate;
  ssl.pem_private_key = options.tls->client_key;
  return grpc::SslCredentials(ssl);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckOptions(absl::string_view target,
                                                      const ClientOptions& options) {
  absl::StatusOr<std::vector<std::string>> addresses = SplitTarget(target);
  if (!addresses.ok()) return addresses;
  absl::Status status;
  for (const std::string& address : *addresses) status.Update(CheckToken(address, options));
  if (status.ok() && options.tls) status = CheckTls(*options.tls);
  if (!status.ok()) return status;
  if (options.channels < 1 || options.channels > kMaxChannels) {
    return InvalidOptions(absl::StrCat(options.channels, " channels; at least 1 and at most ",
                                       kMaxChannels, " are allowed"));
  }
  status = CheckClientName(options.client_name);
  if (!status.ok()) return InvalidOptions(status.message());
  return addresses;
}

std::vector<ClientConnection> MakeConnections(absl::string_view address,
                                              const ClientOptions& options, bool is_among_several) {
  PrepareFirstConnection();
  std::vector<ClientConnection> connections;
  // A server may have named it.
  if (!CheckTarget(address).ok() || !CheckToken(address, options).ok()) return connections;
  for (int i = 0; i < options.channels; ++i) {
    grpc::ChannelArguments arguments = MakeArguments(address, options, is_among_several);
    std::shared_ptr<Sockets> sockets = Sockets::Watch(IsLocal(address), arguments);
    connections.push_back({grpc::CreateCustomChannel(std::string(address),
                                                     MakeCredentials(address, options), arguments),
                           std::move(sockets), std::string(address),
                           IsEncrypted(address, options)});
  }
  return connections;
}

}  // namespace opserve::client_internal
