#include "server/edge/tls_pair.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>

namespace opserve {
namespace {

template <class T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};

struct BioFreer {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

using Bio = std::unique_ptr<BIO, BioFreer>;
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// In place of asking on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

bool IsUsable(const std::string& certificate_text, const std::string& key_text) {
  const Context context(SSL_CTX_new(TLS_server_method()));
  const Certificate certificate(
      PEM_read_bio_X509(Reader(certificate_text).get(), nullptr, NoPassword, nullptr));
  const Key key(PEM_read_bio_PrivateKey(Reader(key_text).get(), nullptr, NoPassword, nullptr));
  return context && certificate && key &&
         SSL_CTX_use_certificate(context.get(), certificate.get()) == 1 &&
         SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
         SSL_CTX_check_private_key(context.get()) == 1;
}

}  // namespace

absl::Status CheckTlsPair(const std::string& certificate, const std::string& key) {
  const bool is_usable = IsUsable(certificate, key);
  // What is left there would be taken for the error of a later call of this thread.
  ERR_clear_error();
  if (is_usable) return absl::OkStatus();
  return absl::InvalidArgumentError("the TLS certificate and key are not a usable pair");
}

}  // namespace opserve
