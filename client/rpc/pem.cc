#include "client/rpc/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace opserve::client_internal {
namespace {

using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// A password that is asked for on the terminal would stop the program.
int NoPassword(char*, int, int, void*) { return 0; }

Bytes BytesOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// nullptr where there is none, or none that can be read.
Certificate NextCertificate(BIO* bytes) {
  return {PEM_read_bio_X509_AUX(bytes, nullptr, &NoPassword, nullptr), &X509_free};
}

Key KeyOf(const std::string& text) {
  const Bytes bytes = BytesOf(text);
  return {PEM_read_bio_PrivateKey(bytes.get(), nullptr, &NoPassword, nullptr), &EVP_PKEY_free};
}

}  // namespace

absl::Status CheckCertificates(const std::string& text) {
  const Bytes bytes = BytesOf(text);
  int count = 0;
  while (NextCertificate(bytes.get()) != nullptr) ++count;
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (is_at_end && count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(is_at_end ? "holds no certificate in PEM form"
                                              : "holds a certificate that cannot be read");
}

absl::Status CheckKey(const std::string& text) {
  const bool is_key = KeyOf(text) != nullptr;
  ERR_clear_error();
  if (is_key) return absl::OkStatus();
  return absl::InvalidArgumentError("holds no private key in PEM form without a password");
}

absl::Status CheckPair(const std::string& certificate, const std::string& key) {
  const Bytes bytes = BytesOf(certificate);
  const Certificate first = NextCertificate(bytes.get());
  const Key private_key = KeyOf(key);
  const bool is_pair = first != nullptr && private_key != nullptr &&
                       X509_check_private_key(first.get(), private_key.get()) == 1;
  ERR_clear_error();
  if (is_pair) return absl::OkStatus();
  return absl::InvalidArgumentError("the key is not that of the certificate");
}

}  // namespace opserve::client_internal
