#include "server/metrics/http_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

#include "server/edge/key_updates.h"
#include "server/edge/socket_calls.h"

namespace opserve {
namespace {

using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Bytes BytesOf(const std::string& text) {
  return Bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

// A password that is asked for on the terminal would stop the server.
int NoPassword(char*, int, int, void*) { return 0; }

Certificate NextOf(BIO* text) {
  return Certificate(PEM_read_bio_X509_AUX(text, nullptr, &NoPassword, nullptr), &X509_free);
}

bool SetIdentity(SSL_CTX* context, const HttpCertificates& certificates) {
  const Bytes chain = BytesOf(certificates.certificate);
  const Bytes key_text = BytesOf(certificates.key);
  if (chain == nullptr || key_text == nullptr) return false;
  const Certificate first = NextOf(chain.get());
  if (first == nullptr || SSL_CTX_use_certificate(context, first.get()) != 1) return false;
  while (Certificate next = NextOf(chain.get())) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return false;
  }
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, &NoPassword, nullptr), &EVP_PKEY_free);
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

// Asks clients for certificates of these authorities.
bool SetClientAuthorities(SSL_CTX* context, const HttpCertificates& certificates) {
  if (certificates.client_ca.empty()) return true;
  // As gRPC does, so that both ports take the same clients: an authority may be one that another
  // one has signed, which is not named.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context),
                       X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  const Bytes text = BytesOf(certificates.client_ca);
  if (text == nullptr) return false;
  size_t count = 0;
  for (; Certificate authority = NextOf(text.get()); ++count) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return false;
    }
  }
  SSL_CTX_set_verify(
      context,
      SSL_VERIFY_PEER | (certificates.requires_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  return count > 0;
}

// The text of a string in a certificate, bytes of zero included.
std::string TextOf(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int bytes = ASN1_STRING_to_UTF8(&utf8, text);
  if (bytes < 0) return "";
  std::string copy(reinterpret_cast<const char*>(utf8), static_cast<size_t>(bytes));
  OPENSSL_free(utf8);
  return copy;
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? "" : TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string FirstDnsName(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) return TextOf(name->d.dNSName);
  }
  return "";
}

int LengthOf(size_t bytes) {
  return static_cast<int>(std::min<size_t>(bytes, std::numeric_limits<int>::max()));
}

// OpenSSL's own way to a socket closes descriptors that come over a socket file as it reads, and
// raises SIGPIPE where the other end is gone. So it has this one.
int SocketOf(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool IsToRepeat(ssize_t done) { return done < 0 && (errno == EAGAIN || errno == EINTR); }

int ReadSocket(BIO* bio, char* to, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ReceiveBytes(SocketOf(bio), to, static_cast<size_t>(bytes));
  if (IsToRepeat(got)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

int WriteSocket(BIO* bio, const char* from, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = SendBytes(SocketOf(bio), {from, static_cast<size_t>(bytes)});
  if (IsToRepeat(sent)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

// Nothing is kept back, so there is nothing to flush. It knows no other command.
long ControlSocket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* MakeSocketMethod() {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, &ReadSocket);
  BIO_meth_set_write(method, &WriteSocket);
  BIO_meth_set_ctrl(method, &ControlSocket);
  return method;
}

// nullptr where there is no memory.
BIO* BioOf(int socket) {
  static const BIO_METHOD* const method = MakeSocketMethod();
  BIO* const bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

// A request is too short for its client to change keys.
void RefuseKeyUpdates(int is_sent, int /*version*/, int type, const void* message, size_t bytes,
                      SSL* ssl, void* /*argument*/) {
  if (IsKeyUpdateOfPeer(is_sent, type, message, bytes, ssl)) TakeNoMoreRecords(ssl);
}

}  // namespace

ssize_t TlsConnection::ResultOf(int done) {
  wants_write_ = false;
  if (done > 0) return done;
  switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      [[fallthrough]];
    case SSL_ERROR_WANT_READ:
      errno = EAGAIN;
      return -1;
    default:
      errno = EPROTO;
      return -1;
  }
}

ssize_t TlsConnection::Read(char* to, size_t bytes) {
  ERR_clear_error();
  return ResultOf(SSL_read(ssl_.get(), to, LengthOf(bytes)));
}

ssize_t TlsConnection::Write(const char* from, size_t bytes) {
  ERR_clear_error();
  return ResultOf(SSL_write(ssl_.get(), from, LengthOf(bytes)));
}

void TlsConnection::Finish() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

bool TlsConnection::has_certificate() const {
  return SSL_get0_peer_certificate(ssl_.get()) != nullptr &&
         SSL_get_verify_result(ssl_.get()) == X509_V_OK;
}

std::string TlsConnection::certificate_name() const {
  if (!has_certificate()) return "";
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  std::string name = CommonName(certificate);
  return name.empty() ? FirstDnsName(certificate) : name;
}

HttpTls::Context HttpTls::MakeContext(const HttpCertificates& certificates) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Each connection proves anew who it is.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_msg_callback(context.get(), &RefuseKeyUpdates);
  // An answer goes out piece by piece, from a text that does not move.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
  if (!SetIdentity(context.get(), certificates) ||
      !SetClientAuthorities(context.get(), certificates)) {
    context.reset();
  }
  // The end of a text is an error, too.
  ERR_clear_error();
  return context;
}

std::unique_ptr<TlsConnection> HttpTls::Accept(int socket) {
  const HttpCertificates certificates = source_();
  if (certificates.version != version_) {
    Context context = MakeContext(certificates);
    if (context == nullptr) return nullptr;
    context_ = std::move(context);
    version_ = certificates.version;
  }
  TlsConnection::Ssl ssl(SSL_new(context_.get()), &SSL_free);
  if (ssl == nullptr) return nullptr;
  BIO* const bio = BioOf(socket);
  if (bio == nullptr) return nullptr;
  SSL_set_bio(ssl.get(), bio, bio);
  SSL_set_accept_state(ssl.get());
  return std::unique_ptr<TlsConnection>(new TlsConnection(std::move(ssl)));
}

}  // namespace opserve
