#include "client/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/rpc/client_name.h"

namespace opserve::client_internal {
namespace {

// Whether the server is on this machine, as far as the target tells.
bool IsLocal(absl::string_view target) {
  for (absl::string_view prefix : {"unix:", "localhost:", "127.", "[::1]:"}) {
    if (absl::StartsWith(target, prefix)) return true;
  }
  return false;
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
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(options.retry.max_backoff));
  // Or several channels to one server would share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
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

}  // namespace

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
  if (options.channels < 1 || options.channels > kMaxChannels) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.channels, " channels; at least 1 and at most ", kMaxChannels, " are allowed"));
  }
  return CheckClientName(options.client_name);
}

std::vector<ClientConnection> MakeConnections(absl::string_view target,
                                              const ClientOptions& options) {
  std::vector<ClientConnection> connections;
  for (int i = 0; i < options.channels; ++i) {
    grpc::ChannelArguments arguments = MakeArguments(target, options);
    std::shared_ptr<Sockets> sockets = Sockets::Watch(IsLocal(target), arguments);
    connections.push_back(
        {grpc::CreateCustomChannel(std::string(target), MakeCredentials(options), arguments),
         std::move(sockets)});
  }
  return connections;
}

}  // namespace opserve::client_internal
