// File: server/edge/tls_pair.h
//
// Whether a certificate and a key serve TLS. gRPC finds out with the first connection.

#ifndef OPSERVE_SERVER_EDGE_TLS_PAIR_H_
#define OPSERVE_SERVER_EDGE_TLS_PAIR_H_

#include <string>

#include "absl/status/status.h"

namespace opserve {

// INVALID_ARGUMENT where `certificate` and `key`, texts of PEM files, are none or do not belong
// together. Stateless.
absl::Status CheckTlsPair(const std::string& certificate, const std::string& key);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_TLS_PAIR_H_
