// A client that changes its keys of TLS 1.3 many times in a row and then asks for something:
//
//   key_updates_client HOST PORT SOURCE COUNT http1|http2
//
// It prints "ready", waits for a line, sends all, and prints "answered", "ended" or "silent".

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "proto/packets/unique_fd.h"

namespace opserve::testing {
namespace {

// The preface of HTTP/2 with SETTINGS and their acknowledgement; and a PING.
constexpr absl::string_view kHttp2Begin(
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0", 42);
constexpr absl::string_view kPing("\0\0\10\6\0\0\0\0\0redteam!", 17);
constexpr absl::string_view kGet = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr long kAnswerLimitS = 30;

// Connected, from the host `source`; none where that fails.
UniqueFd Connect(const char* host, const char* port, const char* source) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, source, &address.sin_addr);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (bind(socket.get(), any, sizeof(address)) != 0) return {};
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &address.sin_addr);
  if (connect(socket.get(), any, sizeof(address)) != 0) return {};
  const timeval limit = {.tv_sec = kAnswerLimitS, .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return socket;
}

bool Write(SSL* ssl, absl::string_view bytes) {
  return SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

// False where the other end has gone.
bool Send(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// What became of the question.
const char* Answer(SSL* ssl, absl::string_view sign) {
  std::string answer;
  std::array<char, 4096> piece;
  while (!absl::StrContains(answer, sign)) {
    errno = 0;
    const int got = SSL_read(ssl, piece.data(), static_cast<int>(piece.size()));
    if (got <= 0) return errno == EAGAIN ? "silent" : "ended";
    answer.append(piece.data(), static_cast<size_t>(got));
  }
  return "answered";
}

int Run(char** arguments) {
  const int count = std::atoi(arguments[4]);
  const bool is_http2 = absl::string_view(arguments[5]) == "http2";
  const UniqueFd socket = Connect(arguments[1], arguments[2], arguments[3]);
  if (!socket) return 1;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  constexpr std::array<unsigned char, 3> kH2 = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kH2.data(), kH2.size());
  SSL_set_fd(ssl.get(), socket.get());
  if (SSL_connect(ssl.get()) != 1) return 1;
  if (is_http2 && !Write(ssl.get(), kHttp2Begin)) return 1;
  // All is made before any of it is sent, so that it comes as fast as it can.
  BIO* const made = BIO_new(BIO_s_mem());
  SSL_set0_wbio(ssl.get(), made);
  for (int i = 0; i < count; ++i) {
    if (SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1 ||
        SSL_do_handshake(ssl.get()) != 1) {
      return 1;
    }
  }
  if (!Write(ssl.get(), is_http2 ? kPing : kGet)) return 1;
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(made, &bytes);
  const bool is_sent = Send(socket.get(), {bytes, static_cast<size_t>(size)});
  std::puts(is_sent ? Answer(ssl.get(), is_http2 ? "redteam!" : "HTTP/1.1 200") : "ended");
  return 0;
}

}  // namespace
}  // namespace opserve::testing

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: key_updates_client HOST PORT SOURCE COUNT http1|http2\n");
    return 2;
  }
  return opserve::testing::Run(argv);
}
