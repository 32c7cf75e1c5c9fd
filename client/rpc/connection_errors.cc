#include "client/rpc/connection_errors.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/status_details.h"
#include "client/rpc/grpc_status.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

// With which encryption of ours a text means this.
enum class Encryption { kAny, kTls, kPlain };

// What gRPC 1.51 says where it could not connect, and what it means. The first that is found wins.
struct KnownText {
  absl::string_view text;
  Encryption encryption;
  absl::string_view reason;
  absl::string_view message;
};

constexpr KnownText kKnownTexts[] = {
    {"wrong version number", Encryption::kTls, kServerWithoutTls, "the server speaks no TLS"},
    {"certificate verify failed", Encryption::kTls, kCertificateNotTrusted,
     "no trusted authority vouches for its certificate"},
    {"is not in peer certificate", Encryption::kTls, kCertificateOfAnotherName,
     "its certificate is for another name"},
    {"Connection refused", Encryption::kAny, kConnectionRefused, "connection refused"},
    {"No such file or directory", Encryption::kAny, kUnknownHost, "there is no such socket file"},
    {"DNS resolution failed", Encryption::kAny, kUnknownHost, "the host is not known"},
    // The alert that names the missing certificate comes after the handshake of TLS 1.3, when gRPC
    // does not listen for it any more.
    {"Socket closed", Encryption::kTls, kClientCertificateRefused,
     "it wants a certificate of the client, or another one"},
    {"Connection reset by peer", Encryption::kTls, kClientCertificateRefused,
     "it wants a certificate of the client, or another one"},
    {"Socket closed", Encryption::kPlain, kServerWantsTls, "it takes no plain text"},
    {"Connection reset by peer", Encryption::kPlain, kServerWantsTls, "it takes no plain text"},
};

bool Fits(Encryption encryption, bool with_tls) {
  return encryption == Encryption::kAny || (encryption == Encryption::kTls) == with_tls;
}

}  // namespace

absl::Status ErrorOf(const grpc::Status& error, const ClientConnection& connection) {
  absl::Status status = ToAbsl(error);
  // A connection that breaks later has one of these texts too, but not these beginnings.
  if (!absl::IsUnavailable(status) ||
      !(absl::StartsWith(status.message(), "failed to connect to all addresses") ||
        absl::StartsWith(status.message(), "connections to all backends failing") ||
        absl::StartsWith(status.message(), "DNS resolution failed"))) {
    return status;
  }
  for (const KnownText& known : kKnownTexts) {
    if (!Fits(known.encryption, connection.with_tls) ||
        !absl::StrContains(status.message(), known.text)) {
      continue;
    }
    return MakeClientError(
        absl::StatusCode::kUnavailable,
        absl::StrCat("no connection to ", connection.target, ": ", known.message), known.reason,
        status.message());
  }
  return status;
}

}  // namespace opserve::client_internal
