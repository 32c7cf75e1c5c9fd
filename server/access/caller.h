// File: server/access/caller.h
//
// Who sends a call: what he shows, what of it was found to be true, and what was granted to him
// when the call began.

#ifndef OPSERVE_SERVER_ACCESS_CALLER_H_
#define OPSERVE_SERVER_ACCESS_CALLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/access/role.h"
#include "server/admission/admission.h"
#include "server/base/user_id.h"
#include "server/edge/peer_identity.h"

namespace opserve {

// The metadata by which clients give themselves a name.
inline constexpr char kClientNameKey[] = "opserve-client";
// Longest name in bytes, also of those in certificates and of tokens.
inline constexpr size_t kMaxClientNameBytes = 128;

// Whether `name` has 1 to kMaxClientNameBytes bytes of printable ASCII and no '/'.
bool IsClientName(absl::string_view name);

// OK for a name that a client may give itself, else INVALID_REQUEST.
absl::Status CheckClientName(absl::string_view name);

// What a call brings by which its sender may be known, as gRPC has it, before anything was checked
// but certificates. The views live as long as the call.
struct CallProof {
  // The other end of the connection.
  PeerIdentity peer;
  // The value of the metadata opserve-client, and whether it is there.
  absl::string_view name;
  bool has_name = false;
  // The same of the metadata authorization.
  absl::string_view authorization;
  bool has_authorization = false;
  // Metadata that may be there once only came more than once.
  bool is_ambiguous = false;
  // The name in the client's certificate, which was verified; empty where there is none.
  std::string certificate;
  bool has_certificate = false;
};

// What was found to be true of a caller, for the rules of a policy. The views must outlive it.
struct CallerFacts {
  // Names; empty: none.
  absl::string_view certificate;
  absl::string_view token;
  const PeerIdentity& peer;

  // The strongest, as Caller describes it.
  std::string Identity() const;
};

// What a caller may do. Does not change.
struct AccessGrant {
  RoleSet roles = {};
  // Whether nothing is known of the caller but where he is, and no rule names that.
  bool is_anonymous = false;
  // How much one identity may have of the server, and how many streams.
  ShareLimits share = {};
  ShareLimits streams = {};
  // Most bytes and number of resident tensors of one identity, in all of its names together, in
  // place of what the server's settings give each client; nullopt: that holds.
  std::optional<uint64_t> max_resident_bytes = std::nullopt;
  std::optional<size_t> max_resident_tensors = std::nullopt;
  // The same of connections, of an address or a user: who else is at the other end is not known
  // when they are made.
  std::optional<size_t> max_connections = std::nullopt;
  // The same of shared regions, of a user.
  std::optional<uint64_t> max_region_bytes = std::nullopt;
  std::optional<size_t> max_regions = std::nullopt;
  // Weight of its turns, above 0.
  double weight = 1;
  // The most urgent class that its requests run at: 0 high, 1 normal, 2 low.
  uint8_t most_urgent = 0;
};

// What callers have where nobody restricts them: every role. Lives for ever.
const std::shared_ptr<const AccessGrant>& FullGrant();

// How identities begin that a certificate or a token proves.
inline constexpr absl::string_view kCertificateIdentity = "cert:";
inline constexpr absl::string_view kTokenIdentity = "token:";

// A value type. The identity is proven: a certificate ("cert:NAME"), a token ("token:NAME"), a user
// of this machine ("uid:1000"), or, where there is no better, an address as the limits of
// connections know it (server/edge/peer_identity.h). The name is what the caller gives himself: it
// divides his identity, and is no credential. Programs of one identity that give themselves the
// same name are one client.
class Caller {
 public:
  // Nobody; has no role.
  Caller() = default;
  // `name` must be empty or valid; `grant` must be there. `user`: see user().
  Caller(std::string identity, absl::string_view name, std::shared_ptr<const AccessGrant> grant,
         std::optional<UserId> user = std::nullopt);

  // Both live as long as the caller; the name is empty where he gave none.
  absl::string_view identity() const { return absl::string_view(client_).substr(0, proven_bytes_); }
  absl::string_view name() const {
    return absl::string_view(client_).substr(client_.size() > proven_bytes_ ? proven_bytes_ + 1
                                                                            : proven_bytes_);
  }
  // Both in one, "10.0.0.7/runner-3": whose the resident tensors are. No two callers that differ in
  // either have the same, because names have no '/'.
  const std::string& client() const { return client_; }

  // The user of this machine who connected to a socket file, whatever else the caller has proven;
  // nullopt where the call came in another way.
  std::optional<UserId> user() const { return user_; }

  // Not where nobody calls.
  const AccessGrant& grant() const { return *grant_; }

  // OK where the caller has `role`. CREDENTIALS_REQUIRED where he might have it if he proved who he
  // is, else ROLE_REQUIRED; that tells whether a rule of the policy matches him at all.
  absl::Status Check(Role role) const;

 private:
  // Whether he has shown what proves who he is.
  bool has_credentials() const;

  std::string client_;
  size_t proven_bytes_ = 0;
  std::shared_ptr<const AccessGrant> grant_;
  std::optional<UserId> user_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_CALLER_H_
