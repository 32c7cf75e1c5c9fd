#include "server/access/call_proof.h"

#include "absl/strings/str_cat.h"

namespace opserve {

std::string CallerFacts::Identity() const {
  if (!certificate.empty()) return absl::StrCat("cert:", certificate);
  if (!token.empty()) return absl::StrCat("token:", token);
  return peer.Host();
}

}  // namespace opserve
