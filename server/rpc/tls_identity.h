// File: server/rpc/tls_identity.h
//
// The certificate by which clients know the server, and how it is replaced while the server runs.

#ifndef OPSERVE_SERVER_RPC_TLS_IDENTITY_H_
#define OPSERVE_SERVER_RPC_TLS_IDENTITY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "proto/base/mutex.h"

namespace opserve {

// A certificate chain and its key. Thread-safe.
class TlsIdentity {
 public:
  // What one handshake uses.
  struct Pair {
    // PEM.
    std::string certificate;
    std::string key;
    // Counts the pairs of an identity from 1 on.
    uint64_t version = 0;
  };

  // Reads two PEM files. NOT_FOUND where one cannot be read, INVALID_ARGUMENT where the key is not
  // that of the first certificate, or they are none.
  static absl::StatusOr<std::shared_ptr<TlsIdentity>> Load(const std::string& certificate_file,
                                                           const std::string& key_file);

  // Reads the files again, for connections that are made from now on. On an error, which is one of
  // Load, everything stays as it was.
  absl::Status Reload();

  std::shared_ptr<const Pair> pair() const;

 private:
  TlsIdentity(std::string certificate_file, std::string key_file)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

  const std::string certificate_file_;
  const std::string key_file_;
  mutable Mutex mutex_;
  std::shared_ptr<const Pair> pair_ ABSL_GUARDED_BY(mutex_);
};

// Credentials of a server with this identity, which is asked for its pair at every handshake. They
// must outlive the server, and know no processors of call credentials.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const TlsIdentity> identity);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_TLS_IDENTITY_H_
