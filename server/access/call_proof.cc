#include "server/access/call_proof.h"

#include "absl/strings/str_cat.h"
#include "server/access/caller.h"

namespace opserve {

std::string CallerFacts::Identity() const {
  if (!certificate.empty()) return absl::StrCat(kCertificateIdentity, certificate);
  if (!token.empty()) return absl::StrCat(kTokenIdentity, token);
  return peer.Host();
}

}  // namespace opserve
