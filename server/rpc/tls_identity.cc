#include "server/rpc/tls_identity.h"

#include <list>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/grpc_security.h"
#include "grpc/support/log.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/ssl.h"
#include "openssl/x509.h"
#include "server/base/small_file.h"

namespace opserve {
namespace {

// A password that is asked for on the terminal would stop the server.
int NoPassword(char*, int, int, void*) { return 0; }

using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bytes BytesOf(const std::string& text) {
  return Bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

Certificate NextOf(BIO* text) {
  return Certificate(PEM_read_bio_X509_AUX(text, nullptr, &NoPassword, nullptr), &X509_free);
}

Key KeyOf(const std::string& text) {
  return Key(PEM_read_bio_PrivateKey(BytesOf(text).get(), nullptr, &NoPassword, nullptr),
             &EVP_PKEY_free);
}

// Does with certificates and key what gRPC does with them. The file that OpenSSL does not take, as
// too weak for example; nullptr where it takes both, or has no memory.
const std::string* RefusedFile(const std::string& certificate_text, const std::string& key_text,
                               const TlsIdentity::Files& files) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  &SSL_CTX_free);
  if (context == nullptr) return nullptr;
  const Bytes chain = BytesOf(certificate_text);
  ERR_clear_error();
  if (SSL_CTX_use_certificate(context.get(), NextOf(chain.get()).get()) != 1) {
    return &files.certificate;
  }
  while (const Certificate next = NextOf(chain.get())) {
    if (SSL_CTX_add1_chain_cert(context.get(), next.get()) != 1) return &files.certificate;
  }
  // The end of the text is an error, too.
  ERR_clear_error();
  const bool takes_key = SSL_CTX_use_PrivateKey(context.get(), KeyOf(key_text).get()) == 1;
  return takes_key ? nullptr : &files.key;
}

// OK where TLS takes the key and the certificates.
absl::Status CheckUse(const std::string& certificate_text, const std::string& key_text,
                      const TlsIdentity::Files& files) {
  const std::string* const refused = RefusedFile(certificate_text, key_text, files);
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  if (refused == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(*refused, " cannot be used: ", reason == nullptr ? "unknown reason" : reason));
}

// OK where the key is that of the first certificate.
absl::Status CheckPair(const std::string& certificate_text, const std::string& key_text,
                       const TlsIdentity::Files& files) {
  const Certificate certificate = NextOf(BytesOf(certificate_text).get());
  const Key key = KeyOf(key_text);
  const bool is_pair = certificate != nullptr && key != nullptr &&
                       X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (is_pair) return absl::OkStatus();
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.certificate, " does not begin with a certificate in PEM"));
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.key, " has no private key in PEM that can be read without a password"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the key in ", files.key, " is not that of the first certificate in ", files.certificate));
}

// Whether it begins with a certificate, and has nothing else that OpenSSL cannot read.
bool HasCertificates(const std::string& text) {
  const Bytes bytes = BytesOf(text);
  int count = 0;
  while (NextOf(bytes.get()) != nullptr) ++count;
  // The end of the text is an error, too.
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return count > 0 && is_end;
}

absl::StatusOr<TlsIdentity::Pair> ReadPair(const TlsIdentity::Files& files) {
  absl::StatusOr<std::string> certificate = ReadSmallFile(files.certificate);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = ReadSmallFile(files.key);
  if (!key.ok()) return key.status();
  absl::StatusOr<std::string> client_ca = std::string();
  if (!files.client_ca.empty()) {
    client_ca = ReadSmallFile(files.client_ca);
    if (!client_ca.ok()) return client_ca.status();
    if (!HasCertificates(*client_ca)) {
      return absl::InvalidArgumentError(
          absl::StrCat(files.client_ca, " has no certificates of authorities, or broken ones"));
    }
  }
  if (absl::Status status = CheckPair(*certificate, *key, files); !status.ok()) return status;
  if (!HasCertificates(*certificate)) {
    return absl::InvalidArgumentError(absl::StrCat(files.certificate, " has broken certificates"));
  }
  if (absl::Status status = CheckUse(*certificate, *key, files); !status.ok()) return status;
  return TlsIdentity::Pair{*std::move(certificate), *std::move(key), *std::move(client_ca)};
}

// What an address of a server has of an identity. gRPC asks for it under a lock of its own.
struct PortState {
  std::shared_ptr<const TlsIdentity> identity;
  // The pair that gRPC has.
  uint64_t version = 0;
};

grpc_ssl_certificate_config_reload_status Fetch(void* user_data,
                                                grpc_ssl_server_certificate_config** config) {
  PortState& state = *static_cast<PortState*>(user_data);
  const std::shared_ptr<const TlsIdentity::Pair> pair = state.identity->pair();
  if (pair->version == state.version) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pem = {pair->key.c_str(), pair->certificate.c_str()};
  // gRPC 1.51 insists on certificates that it would trust clients by, also where it asks for none.
  const std::string& trusted = pair->client_ca.empty() ? pair->certificate : pair->client_ca;
  *config = grpc_ssl_server_certificate_config_create(trusted.c_str(), &pem, 1);
  state.version = pair->version;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

grpc_ssl_client_certificate_request_type RequestOf(const TlsIdentity::Files& files) {
  if (files.client_ca.empty()) return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
  return files.requires_client ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                               : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
}

// gRPC's C++ API knows only certificates that never change, so this reaches below it.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(std::shared_ptr<const TlsIdentity> identity)
      : identity_(std::move(identity)) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& processor) override {
    GPR_ASSERT(processor == nullptr);
  }

 private:
  // Each address has a state of its own, because gRPC keeps a certificate for each.
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    PortState& state = ports_.emplace_back(PortState{identity_});
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            RequestOf(identity_->files()), &Fetch, &state));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  const std::shared_ptr<const TlsIdentity> identity_;
  std::list<PortState> ports_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TlsIdentity>> TlsIdentity::Load(const Files& files) {
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity(files));
  if (absl::Status status = identity->Reload(); !status.ok()) return status;
  return identity;
}

absl::Status TlsIdentity::Reload() {
  absl::StatusOr<Pair> pair = ReadPair(files_);
  if (!pair.ok()) return pair.status();
  MutexLock lock(mutex_);
  pair->version = pair_ == nullptr ? 1 : pair_->version + 1;
  pair_ = std::make_shared<const Pair>(*std::move(pair));
  return absl::OkStatus();
}

std::shared_ptr<const TlsIdentity::Pair> TlsIdentity::pair() const {
  MutexLock lock(mutex_);
  return pair_;
}

std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const TlsIdentity> identity) {
  return std::make_shared<ReloadingCredentials>(std::move(identity));
}

}  // namespace opserve
