// File: server/access/call_proof.h
//
// What a call brings by which its sender may be known.

#ifndef OPSERVE_SERVER_ACCESS_CALL_PROOF_H_
#define OPSERVE_SERVER_ACCESS_CALL_PROOF_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/edge/peer_identity.h"

namespace opserve {

// As gRPC has it, before anything was checked but certificates. The views live as long as the call.
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

  // The strongest, as server/access/caller.h describes it.
  std::string Identity() const;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_CALL_PROOF_H_
