// File: server/errors/host_ids.h
//
// Ids of what only this host has: tensors, regions and leases. Where the host has an address that
// its clients know, ids end in "@" and that address, so that whoever has one can tell where to go,
// and so can a host that is asked for what another one has. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_SERVER_ERRORS_HOST_IDS_H_
#define OPSERVE_SERVER_ERRORS_HOST_IDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve {

// Longest address of a host in bytes.
inline constexpr size_t kMaxHostBytes = 255;

// Whether clients can be told to go there: "host:port", "[::1]:port" or "unix:/path", printable,
// and no address that stands for all of a machine's.
bool IsHostAddress(absl::string_view address);

// An id for something new, which nobody can guess; see RandomId. `host`: the address of this host,
// or empty.
std::string NewHostId(absl::string_view host);

// WRONG_HOST, with the right one, where `id` names another host than `host`; otherwise
// `not_found`.
absl::Status NotFoundHere(absl::string_view id, absl::string_view host, absl::Status not_found);

}  // namespace opserve

#endif  // OPSERVE_SERVER_ERRORS_HOST_IDS_H_
