// File: client/rpc/pem.h
//
// Whether text is what TLS needs, before gRPC gets it, which would only fail to connect. Stateless
// and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_PEM_H_
#define OPSERVE_CLIENT_RPC_PEM_H_

#include <string>

#include "absl/status/status.h"

namespace opserve::client_internal {

// INVALID_ARGUMENT unless `text` holds at least one certificate in PEM form, and all that it holds
// can be read.
absl::Status CheckCertificates(const std::string& text);

// INVALID_ARGUMENT unless `text` holds a private key in PEM form that needs no password.
absl::Status CheckKey(const std::string& text);

// INVALID_ARGUMENT unless the key is that of the first certificate. Both have passed the checks
// above.
absl::Status CheckPair(const std::string& certificate, const std::string& key);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_PEM_H_
