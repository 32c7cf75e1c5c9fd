#include "server/edge/sent_bytes.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cstddef>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/edge/connection_table.h"
#include "server/edge/message_front.h"
#include "server/edge/next_function.h"
#include "server/edge/received_bytes.h"

namespace opserve {
namespace {

using SendMessage = ssize_t(int, const msghdr*, int);

}  // namespace

bool SeesSentBytes() {
  return IsInFront("sendmsg", &::sendmsg) && IsInFront("SSL_write", &::SSL_write);
}

}  // namespace opserve

// The program's symbols come before those of its libraries, so gRPC calls these.
extern "C" {

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const next = opserve::NextFunction<opserve::SendMessage>("sendmsg");
  opserve::EdgeConnection* const connection = opserve::FindConnection(fd);
  const ssize_t count = next(fd, message, flags);
  if (connection == nullptr || connection->is_tls || count <= 0) return count;
  opserve::MessageFront front(*message, static_cast<size_t>(count));
  const auto next_piece = [&front] {
    const absl::Span<const char> piece = front.Next();
    return absl::string_view(piece.data(), piece.size());
  };
  connection->meter.TakeSent(next_piece, opserve::SteadyClock().Now());
  return count;
}

// What a session sends before it has received anything are whole frames, and none that matters.
__attribute__((visibility("default"))) int SSL_write(SSL* ssl, const void* buffer, int size) {
  static auto* const next = opserve::NextFunction<int(SSL*, const void*, int)>("SSL_write");
  const int count = next(ssl, buffer, size);
  if (count <= 0) return count;
  opserve::EdgeConnection* const connection = opserve::KnownTlsConnection(ssl);
  if (connection == nullptr) return count;
  absl::string_view sent(static_cast<const char*>(buffer), static_cast<size_t>(count));
  connection->meter.TakeSent([&sent] { return std::exchange(sent, {}); },
                             opserve::SteadyClock().Now());
  return count;
}

}  // extern "C"
