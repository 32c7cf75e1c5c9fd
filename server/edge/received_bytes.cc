#include "server/edge/received_bytes.h"

#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/types/span.h"
#include "proto/packets/foreign_descriptors.h"
#include "server/edge/connection_table.h"
#include "server/edge/key_updates.h"
#include "server/edge/message_front.h"
#include "server/edge/next_function.h"

namespace opserve {
namespace {

using ReceiveMessage = ssize_t(int, msghdr*, int);

// Receives for gRPC, no more than `most_bytes`.
ssize_t ReceiveSome(ReceiveMessage* receive, int fd, msghdr* message, int flags,
                    size_t most_bytes) {
  if (most_bytes == SIZE_MAX) return receive(fd, message, flags);
  // gRPC has no more of them; what others would take comes with the next read.
  std::array<iovec, 64> parts;
  msghdr shortened = *message;
  shortened.msg_iov = parts.data();
  shortened.msg_iovlen = 0;
  for (size_t i = 0; i < std::min(message->msg_iovlen, parts.size()) && most_bytes > 0; ++i) {
    iovec& part = parts[shortened.msg_iovlen++] = message->msg_iov[i];
    part.iov_len = std::min(part.iov_len, most_bytes);
    most_bytes -= part.iov_len;
  }
  const ssize_t count = receive(fd, &shortened, flags);
  message->msg_namelen = shortened.msg_namelen;
  message->msg_controllen = shortened.msg_controllen;
  message->msg_flags = shortened.msg_flags;
  return count;
}

// The same when it is the connection's turn, and EAGAIN before.
ssize_t ReceiveInTurn(ReceiveMessage* receive, EdgeConnection& connection, int fd, msghdr* message,
                      int flags) {
  if (connection.turns == nullptr || !connection.poll_entry.is_set()) {
    return receive(fd, message, flags);
  }
  const auto has_bytes = [fd] {
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
  };
  const ReadTurns::Answer answer =
      connection.turns->OnRead(connection, PollRound(), SteadyClock().Now(), has_bytes);
  const ssize_t count =
      answer.may_read ? ReceiveSome(receive, fd, message, flags, answer.most_bytes) : -1;
  const int error = answer.may_read ? errno : EAGAIN;
  if (answer.to_wake != nullptr) Wake(*answer.to_wake);
  errno = error;
  return count;
}

// The same, and nothing but bytes: to gRPC a client that sends descriptors with them has hung up.
// gRPC has no room for descriptors, so the kernel would close them here, for as long as that takes.
ssize_t ReceiveBytesAlone(ReceiveMessage* receive, EdgeConnection& connection, int fd,
                          msghdr* message, int flags) {
  ForeignDescriptorRoom room;
  message->msg_control = room.bytes;
  message->msg_controllen = sizeof(room.bytes);
  const ssize_t count = ReceiveInTurn(receive, connection, fd, message, flags | MSG_CMSG_CLOEXEC);
  const int error = errno;
  const bool has_descriptors = count > 0 && CloseForeign(*message);
  message->msg_control = nullptr;
  message->msg_controllen = 0;
  if (has_descriptors && CookieOf(fd) == connection.cookie) {
    shutdown(fd, SHUT_RDWR);
    return 0;
  }
  errno = error;
  return count;
}

// Whether `bytes` bytes at the front of the message may go on to gRPC, changed where the meter did.
bool MayPass(FrameMeter& meter, const msghdr& message, size_t bytes) {
  const Clock::TimePoint now = SteadyClock().Now();
  MessageFront front(message, bytes);
  for (absl::Span<char> piece = front.Next(); !piece.empty(); piece = front.Next()) {
    if (meter.Take(piece, now) != CloseReason::kNone) return false;
  }
  return true;
}

// The TLS connection whose bytes this thread received last. gRPC decrypts them in the same thread
// before it receives others.
thread_local std::shared_ptr<EdgeConnection> last_tls_connection;  // NOLINT(runtime/threadsafe)

// What an SSL object keeps of its connection. Threads that read and write take turns by a lock of
// gRPC's, which not everybody can see: so the connection is handed over by the pointer.
struct TlsOwner {
  std::shared_ptr<EdgeConnection> connection;
  std::atomic<EdgeConnection*> known = nullptr;
};

void FreeConnection(void*, void* data, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<TlsOwner*>(data);
}

// Where an SSL object keeps its TlsOwner.
int ConnectionIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeConnection);
  return index;
}

// The connection of a server's end of TLS; nullptr where it is another's.
EdgeConnection* TlsConnectionOf(SSL* ssl) {
  if (EdgeConnection* const known = KnownTlsConnection(ssl); known != nullptr) return known;
  if (SSL_is_server(ssl) == 0 || last_tls_connection == nullptr) return nullptr;
  auto owner = std::make_unique<TlsOwner>();
  owner->connection = last_tls_connection;
  EdgeConnection* const connection = owner->connection.get();
  owner->known.store(connection, std::memory_order_release);
  if (SSL_set_ex_data(ssl, ConnectionIndex(), owner.get()) == 1) static_cast<void>(owner.release());
  return connection;
}

// What OpenSSL tells of each message of TLS itself, which nobody else could stop.
void OnTlsMessage(int is_sent, int /*version*/, int type, const void* message, size_t bytes,
                  SSL* ssl, void* /*argument*/) {
  if (!IsKeyUpdateOfPeer(is_sent, type, message, bytes, ssl)) return;
  // Keys may change before there are bytes for gRPC. Nothing is allocated here: an exception cannot
  // pass through OpenSSL.
  EdgeConnection* const known = KnownTlsConnection(ssl);
  EdgeConnection* const connection = known != nullptr ? known : last_tls_connection.get();
  if (connection == nullptr ||
      connection->meter.TakeKeyUpdate(SteadyClock().Now()) == CloseReason::kNone) {
    return;
  }
  // By which gRPC ends the connection.
  TakeNoMoreRecords(ssl);
}

// To be called before each read, which may be the first one. Sessions of others are left alone.
void WatchTlsMessages(SSL* ssl) {
  if (last_tls_connection == nullptr || KnownTlsConnection(ssl) != nullptr) return;
  if (SSL_is_server(ssl) != 0) SSL_set_msg_callback(ssl, &OnTlsMessage);
}

}  // namespace

EdgeConnection* KnownTlsConnection(const SSL* ssl) {
  const auto* const owner = static_cast<const TlsOwner*>(SSL_get_ex_data(ssl, ConnectionIndex()));
  return owner == nullptr ? nullptr : owner->known.load(std::memory_order_acquire);
}

bool SeesReceivedBytes() {
  return IsInFront("recvmsg", &::recvmsg) && IsInFront("SSL_read", &::SSL_read);
}

}  // namespace opserve

// The program's symbols come before those of its libraries, so gRPC calls these.
extern "C" {

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static auto* const next = opserve::NextFunction<opserve::ReceiveMessage>("recvmsg");
  opserve::EdgeConnection* const connection = opserve::FindConnection(fd);
  if (connection == nullptr || (flags & (MSG_ERRQUEUE | MSG_PEEK)) != 0) {
    return next(fd, message, flags);
  }
  const bool takes_descriptors =
      connection->peer.transport != opserve::PeerTransport::kUnixSocket ||
      message->msg_control != nullptr;
  const ssize_t count = takes_descriptors
                            ? opserve::ReceiveInTurn(next, *connection, fd, message, flags)
                            : opserve::ReceiveBytesAlone(next, *connection, fd, message, flags);
  if (count <= 0) return count;
  if (connection->is_tls) {
    if (opserve::last_tls_connection.get() != connection) {
      opserve::last_tls_connection = opserve::ConnectionOf(fd);
    }
    return count;
  }
  if (opserve::MayPass(connection->meter, *message, static_cast<size_t>(count))) return count;
  // Something else may have the number of a connection that has ended.
  if (opserve::CookieOf(fd) != connection->cookie) return count;
  // To gRPC the client has hung up. What it sends from now on is dropped by the system.
  shutdown(fd, SHUT_RDWR);
  return 0;
}

__attribute__((visibility("default"))) int SSL_read(SSL* ssl, void* buffer, int size) {
  static auto* const next = opserve::NextFunction<int(SSL*, void*, int)>("SSL_read");
  opserve::WatchTlsMessages(ssl);
  const int count = next(ssl, buffer, size);
  if (count <= 0) return count;
  opserve::EdgeConnection* const connection = opserve::TlsConnectionOf(ssl);
  if (connection == nullptr ||
      connection->meter.Take({static_cast<char*>(buffer), static_cast<size_t>(count)},
                             opserve::SteadyClock().Now()) == opserve::CloseReason::kNone) {
    return count;
  }
  // The headers of frames of 16 MiB, which nobody may send: gRPC ends the connection.
  std::memset(buffer, 0xff, static_cast<size_t>(count));
  return count;
}

}  // extern "C"
