// A client that changes its keys of TLS many times in a row and then asks for something:
//
//   key_updates_client HOST PORT SOURCE COUNT http1|http2 tls1.2|tls1.3
//
// In TLS 1.2 it begins as many handshakes anew, each by four bytes of a message.
// It prints "ready", waits for a line, sends all, and prints "answered", "ended" or "silent".

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
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

// Record types of TLS; and a ClientHello without what it should have.
constexpr uint8_t kHandshake = 22;
constexpr uint8_t kData = 23;
constexpr absl::string_view kHello("\1\0\0\0", 4);

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

// What a client sends after its handshake in TLS 1.2 with AES128-GCM-SHA256, which OpenSSL would
// not send (RFC 5246, sections 6.2.3.3 and 6.3; RFC 5288).
class Records {
 public:
  // `sent`: how many records have been sent with these keys.
  Records(SSL* ssl, uint64_t sent)
      : number_(sent), cipher_(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free) {
    std::array<uint8_t, 48> secret;
    SSL_SESSION_get_master_key(SSL_get_session(ssl), secret.data(), secret.size());
    std::string seed = "key expansion";
    std::array<uint8_t, 32> random;
    SSL_get_server_random(ssl, random.data(), random.size());
    seed.append(random.begin(), random.end());
    SSL_get_client_random(ssl, random.data(), random.size());
    seed.append(random.begin(), random.end());
    std::string digest = "SHA256";
    const std::array<OSSL_PARAM, 4> parameters = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret.data(), secret.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed.data(), seed.size()),
        OSSL_PARAM_construct_end()};
    const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> method(
        EVP_KDF_fetch(nullptr, "TLS1-PRF", nullptr), &EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> kdf(
        EVP_KDF_CTX_new(method.get()), &EVP_KDF_CTX_free);
    EVP_KDF_derive(kdf.get(), keys_.data(), keys_.size(), parameters.data());
  }

  // The next one of the client.
  std::string Next(uint8_t type, absl::string_view text) {
    std::string number;
    for (int shift = 56; shift >= 0; shift -= 8) {
      number.push_back(static_cast<char>(number_ >> shift & 0xff));
    }
    ++number_;
    const auto header = [type](size_t bytes) {
      return std::string{static_cast<char>(type), 3, 3, static_cast<char>(bytes >> 8 & 0xff),
                         static_cast<char>(bytes & 0xff)};
    };
    // After the keys of both sides.
    const std::string nonce = std::string(keys_.begin() + 32, keys_.begin() + 36) + number;
    const std::string known = number + header(text.size());
    std::string hidden(text.size() + kTagBytes, '\0');
    int done = 0;
    EVP_EncryptInit_ex(cipher_.get(), EVP_aes_128_gcm(), nullptr, keys_.data(), BytesOf(nonce));
    EVP_EncryptUpdate(cipher_.get(), nullptr, &done, BytesOf(known),
                      static_cast<int>(known.size()));
    auto* const to = reinterpret_cast<uint8_t*>(hidden.data());
    EVP_EncryptUpdate(cipher_.get(), to, &done, BytesOf(text), static_cast<int>(text.size()));
    EVP_EncryptFinal_ex(cipher_.get(), to + text.size(), &done);
    EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, to + text.size());
    return header(number.size() + hidden.size()) + number + hidden;
  }

  // Appends the data of the server's records at the front of `received`, which are removed. What
  // they are proven by is not looked at.
  void Open(std::string& received, std::string& text) {
    while (received.size() >= kHeaderBytes) {
      const size_t bytes = static_cast<size_t>(static_cast<uint8_t>(received[3])) << 8 |
                           static_cast<uint8_t>(received[4]);
      if (received.size() < kHeaderBytes + bytes) return;
      const std::string record = received.substr(0, kHeaderBytes + bytes);
      received.erase(0, record.size());
      if (static_cast<uint8_t>(record[0]) != kData) continue;
      const std::string nonce =
          std::string(keys_.begin() + 36, keys_.end()) + record.substr(kHeaderBytes, kNumberBytes);
      std::string shown(bytes - kNumberBytes - kTagBytes, '\0');
      int done = 0;
      EVP_DecryptInit_ex(cipher_.get(), EVP_aes_128_gcm(), nullptr, keys_.data() + 16,
                         BytesOf(nonce));
      EVP_DecryptUpdate(cipher_.get(), reinterpret_cast<uint8_t*>(shown.data()), &done,
                        BytesOf(record) + kHeaderBytes + kNumberBytes,
                        static_cast<int>(shown.size()));
      text += shown;
    }
  }

 private:
  static constexpr size_t kHeaderBytes = 5;
  static constexpr size_t kNumberBytes = 8;
  static constexpr int kTagBytes = 16;

  static const uint8_t* BytesOf(absl::string_view text) {
    return reinterpret_cast<const uint8_t*>(text.data());
  }

  uint64_t number_;
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher_;
  std::array<uint8_t, 40> keys_ = {};
};

// So many handshakes begun anew, and then `question`.
std::string Renegotiations(Records& records, int count, absl::string_view question) {
  std::string all;
  for (int i = 0; i < count; ++i) all += records.Next(kHandshake, kHello);
  return all + records.Next(kData, question);
}

// So many changes of keys, and then `question`; empty where OpenSSL makes none.
std::string KeyUpdates(SSL* ssl, int count, absl::string_view question) {
  BIO* const made = BIO_new(BIO_s_mem());
  SSL_set0_wbio(ssl, made);
  for (int i = 0; i < count; ++i) {
    if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(ssl) != 1) {
      return {};
    }
  }
  if (!Write(ssl, question)) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(made, &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// What became of the question. `receive` gets bytes of the answer: their number, 0 at the end.
template <class Receive>
const char* Answer(absl::string_view sign, const Receive& receive) {
  std::string answer;
  while (!absl::StrContains(answer, sign)) {
    errno = 0;
    if (receive(answer) <= 0) return errno == EAGAIN ? "silent" : "ended";
  }
  return "answered";
}

const char* Answer(SSL* ssl, absl::string_view sign) {
  return Answer(sign, [ssl](std::string& answer) -> ssize_t {
    std::array<char, 4096> piece;
    const int got = SSL_read(ssl, piece.data(), static_cast<int>(piece.size()));
    if (got > 0) answer.append(piece.data(), static_cast<size_t>(got));
    return got;
  });
}

const char* Answer(int socket, Records& records, absl::string_view sign) {
  std::string received;
  return Answer(sign, [&](std::string& answer) {
    std::array<char, 4096> piece;
    const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
    if (got > 0) received.append(piece.data(), static_cast<size_t>(got));
    records.Open(received, answer);
    return got;
  });
}

int Run(char** arguments) {
  const int count = std::atoi(arguments[4]);
  const bool is_http2 = absl::string_view(arguments[5]) == "http2";
  const UniqueFd socket = Connect(arguments[1], arguments[2], arguments[3]);
  if (!socket) return 1;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  const bool is_tls13 = absl::string_view(arguments[6]) == "tls1.3";
  SSL_CTX_set_min_proto_version(context.get(), is_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), is_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), "ECDHE+AES128+AESGCM");
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  constexpr std::array<unsigned char, 3> kH2 = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kH2.data(), kH2.size());
  SSL_set_fd(ssl.get(), socket.get());
  if (SSL_connect(ssl.get()) != 1) return 1;
  if (is_http2 && !Write(ssl.get(), kHttp2Begin)) return 1;
  // All is made before any of it is sent, so that it comes as fast as it can.
  const absl::string_view question = is_http2 ? kPing : kGet;
  // The end of the handshake was a record, too.
  Records records(ssl.get(), is_http2 ? 2 : 1);
  const std::string all =
      is_tls13 ? KeyUpdates(ssl.get(), count, question) : Renegotiations(records, count, question);
  if (all.empty()) return 1;
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  const bool is_sent = Send(socket.get(), all);
  const absl::string_view sign = is_http2 ? "redteam!" : "HTTP/1.1 200";
  const auto answer = [&] {
    return is_tls13 ? Answer(ssl.get(), sign) : Answer(socket.get(), records, sign);
  };
  std::puts(is_sent ? answer() : "ended");
  return 0;
}

}  // namespace
}  // namespace opserve::testing

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: key_updates_client HOST PORT SOURCE COUNT http1|http2 tls1.2|tls1.3\n");
    return 2;
  }
  return opserve::testing::Run(argv);
}
