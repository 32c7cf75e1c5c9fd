// File: client/rpc/client_name.h
//
// What a client may call itself. Stateless.

#ifndef OPSERVE_CLIENT_RPC_CLIENT_NAME_H_
#define OPSERVE_CLIENT_RPC_CLIENT_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve::client_internal {

// Longest ClientOptions::client_name in bytes.
inline constexpr size_t kMaxClientNameBytes = 128;

// The metadata that carries it.
inline constexpr char kClientNameKey[] = "opserve-client";

// INVALID_ARGUMENT unless `name` is empty, or printable ASCII of that length, with no space at its
// ends: what every hop between client and server passes on unchanged.
absl::Status CheckClientName(absl::string_view name);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CLIENT_NAME_H_
