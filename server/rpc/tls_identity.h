// File: server/rpc/tls_identity.h
//
// The certificate by which clients know the server, the authorities by which it knows them, and how
// both are replaced while the server runs.

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
    // The authorities that sign certificates of clients; empty: clients are asked for none.
    std::string client_ca;
    // Counts the pairs of an identity from 1 on.
    uint64_t version = 0;
  };

  // The files, all of them PEM.
  struct Files {
    std::string certificate;
    std::string key;
    // Empty: clients are asked for no certificate.
    std::string client_ca = {};
    // Whether they must have one.
    bool requires_client = false;
  };

  // Reads the files. Fails as ReadSmallFile (server/base/small_file.h) where one cannot be read,
  // and with INVALID_ARGUMENT, which names the file, where the key is not that of the first
  // certificate, one of them is none, or OpenSSL takes one of them for no connection, as too weak
  // for example.
  static absl::StatusOr<std::shared_ptr<TlsIdentity>> Load(const Files& files);

  // Reads the files again, for connections that are made from now on. On an error, which is one of
  // Load, everything stays as it was.
  absl::Status Reload();

  std::shared_ptr<const Pair> pair() const;
  const Files& files() const { return files_; }

 private:
  explicit TlsIdentity(Files files) : files_(std::move(files)) {}

  const Files files_;
  mutable Mutex mutex_;
  std::shared_ptr<const Pair> pair_ ABSL_GUARDED_BY(mutex_);
};

// Credentials of a server with this identity, which is asked for its pair at every handshake. They
// must outlive the server, and know no processors of call credentials.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const TlsIdentity> identity);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_TLS_IDENTITY_H_
