// File: server/metrics/http_tls.h
//
// TLS on the connections of the small HTTP server.

#ifndef OPSERVE_SERVER_METRICS_HTTP_TLS_H_
#define OPSERVE_SERVER_METRICS_HTTP_TLS_H_

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace opserve {

// By what clients know a server, and it knows them. All texts are PEM.
struct HttpCertificates {
  // The chain, and the key of its first.
  std::string certificate;
  std::string key;
  // The authorities that sign certificates of clients; empty: clients are asked for none.
  std::string client_ca;
  // Whether clients must have one.
  bool requires_client = false;
  // Others have another number, which is never 0.
  uint64_t version = 0;
};

// Tells what is to be used for the next connection.
using HttpCertificateSource = std::function<HttpCertificates()>;

// One connection, from its handshake on, over a socket that does not block. Of one thread.
class TlsConnection {
 public:
  // As recv and send, with errno: EAGAIN while nothing can be done, also during the handshake,
  // which the first of these begins; EPROTO where the other end breaks the rules, or has no
  // certificate and must have one.
  ssize_t Read(char* to, size_t bytes);
  ssize_t Write(const char* from, size_t bytes);

  // Tells the other end that nothing follows. What cannot be sent at once is not.
  void Finish();

  // Whether EAGAIN was for want of room to send, not of something to read.
  bool wants_write() const { return wants_write_; }

  // Whether the client has shown a certificate, which was verified; and the name in it: the
  // subject's common name, or else the first DNS name, empty where it has neither. After the
  // handshake.
  bool has_certificate() const;
  std::string certificate_name() const;

 private:
  friend class HttpTls;
  using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

  explicit TlsConnection(Ssl ssl) : ssl_(std::move(ssl)) {}
  ssize_t ResultOf(int done);

  Ssl ssl_;
  bool wants_write_ = false;
};

// Makes connections with the newest certificates. Of one thread.
class HttpTls {
 public:
  // `source` gives certificates that were found to be good.
  explicit HttpTls(HttpCertificateSource source) : source_(std::move(source)) {}

  // For the server's end of `socket`, which must outlive the connection. nullptr where there is no
  // memory, or OpenSSL does not take the certificates.
  std::unique_ptr<TlsConnection> Accept(int socket);

 private:
  using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

  static Context MakeContext(const HttpCertificates& certificates);

  const HttpCertificateSource source_;
  Context context_{nullptr, &SSL_CTX_free};
  // The version of the certificates in the context; 0: there is none.
  uint64_t version_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_HTTP_TLS_H_
