// File: server/rpc/client_identity.h
//
// Who sends requests, for fairness between clients and as owner of resident tensors. Stateless and
// safe to use from any thread.

#ifndef OPSERVE_SERVER_RPC_CLIENT_IDENTITY_H_
#define OPSERVE_SERVER_RPC_CLIENT_IDENTITY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// The metadata by which clients give themselves a name.
inline constexpr char kClientNameKey[] = "opserve-client";
// What of a name is used, in bytes.
inline constexpr size_t kMaxClientNameBytes = 128;

// The client behind a call: its host, and the name it gives itself if any ("10.0.0.7/runner-3").
// All connections of one host without a name are one client. `peer`: as gRPC tells it, such as
// "ipv4:10.0.0.7:41234". A name is no credential: whoever takes many gets many shares and quotas,
// and whoever takes that of another program of the host has its resident tensors.
std::string ClientIdentity(absl::string_view peer, absl::string_view name);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_CLIENT_IDENTITY_H_
