#include "server/access/caller.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {

bool IsClientName(absl::string_view name) {
  const auto is_allowed = [](char c) { return c >= ' ' && c <= '~' && c != '/'; };
  return !name.empty() && name.size() <= kMaxClientNameBytes &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

absl::Status CheckClientName(absl::string_view name) {
  if (IsClientName(name)) return absl::OkStatus();
  return MakeViolationError(
      {absl::StrCat("metadata.", kClientNameKey),
       absl::StrCat("The name has ", name.size(),
                    " bytes, or some that are not allowed; it must have 1 to ", kMaxClientNameBytes,
                    " bytes of printable ASCII without '/'.")});
}

std::string CallerFacts::Identity() const {
  if (!certificate.empty()) return absl::StrCat(kCertificateIdentity, certificate);
  if (!token.empty()) return absl::StrCat(kTokenIdentity, token);
  return peer.Host();
}

const std::shared_ptr<const AccessGrant>& FullGrant() {
  static const auto* const full = new std::shared_ptr<const AccessGrant>(
      std::make_shared<AccessGrant>(AccessGrant{.roles = RoleSet::All()}));
  return *full;
}

Caller::Caller(std::string identity, absl::string_view name,
               std::shared_ptr<const AccessGrant> grant, std::optional<UserId> user)
    : client_(std::move(identity)),
      proven_bytes_(client_.size()),
      grant_(std::move(grant)),
      user_(user) {
  if (!name.empty()) absl::StrAppend(&client_, "/", name);
}

bool Caller::has_credentials() const {
  return absl::StartsWith(identity(), kCertificateIdentity) ||
         absl::StartsWith(identity(), kTokenIdentity);
}

absl::Status Caller::Check(Role role) const {
  if (grant_ != nullptr && grant_->roles.Has(role)) return absl::OkStatus();
  const bool is_unnamed = grant_ == nullptr || grant_->is_anonymous;
  if (is_unnamed && !has_credentials()) {
    return MakeError(
        ErrorReason::CREDENTIALS_REQUIRED,
        absl::StrCat("The call needs the role ", NameOf(role), ", which callers from ", identity(),
                     " do not have without a token or a client certificate."),
        {{"role", std::string(NameOf(role))}});
  }
  return MakeError(ErrorReason::ROLE_REQUIRED,
                   absl::StrCat("The call needs the role ", NameOf(role), ", which ", identity(),
                                is_unnamed ? " does not have, as no rule of the policy matches it."
                                           : " does not have."),
                   {{"role", std::string(NameOf(role))}, {"identity", std::string(identity())}});
}

}  // namespace opserve
