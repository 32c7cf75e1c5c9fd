#include "server/access/access_control.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/access/policy_file.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

absl::Status InvalidCredentials(absl::string_view message) {
  return MakeError(ErrorReason::CREDENTIALS_INVALID, message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Load(const AccessOptions& options,
                                                                   Logger& logger,
                                                                   absl::Time (*now)()) {
  std::unique_ptr<AccessControl> control(new AccessControl(options, logger, now));
  if (absl::Status status = control->ReadPolicy(); !status.ok()) return status;
  if (absl::Status status = control->ReadTokens(); !status.ok()) return status;
  return control;
}

absl::StatusOr<Caller> AccessControl::Identify(const CallProof& proof) const {
  ValidToken token;
  return IdentifyWith(proof, token);
}

absl::StatusOr<Caller> AccessControl::Identify(const CallProof& proof,
                                               std::shared_ptr<const KnownCaller>& known) const {
  // Before the files are asked: who is known by older ones must not pass for known by newer ones.
  const uint64_t version = version_.load(std::memory_order_acquire);
  if (known != nullptr && !proof.is_ambiguous && known->Shows(proof, version) &&
      IsCurrent(known->expires())) {
    return known->caller();
  }
  ValidToken token;
  absl::StatusOr<Caller> caller = IdentifyWith(proof, token);
  if (!caller.ok()) return caller;
  known = KnownCaller::Keeps(proof)
              ? std::make_shared<const KnownCaller>(proof, *caller, version, token.expires)
              : nullptr;
  return caller;
}

absl::StatusOr<Caller> AccessControl::IdentifyWith(const CallProof& proof,
                                                   ValidToken& token) const {
  if (proof.is_ambiguous) {
    return InvalidCredentials(
        "The metadata authorization and opserve-client may be there once each.");
  }
  if (proof.has_name) {
    if (absl::Status status = CheckClientName(proof.name); !status.ok()) return status;
  }
  if (proof.has_authorization) {
    absl::StatusOr<ValidToken> shown = TokenOf(proof);
    if (!shown.ok()) return shown.status();
    token = *std::move(shown);
  }
  if (proof.has_certificate && !IsClientName(proof.certificate)) {
    return InvalidCredentials(absl::StrCat("The name in the client certificate must have 1 to ",
                                           kMaxClientNameBytes,
                                           " bytes of printable ASCII without '/'."));
  }
  const CallerFacts facts = {proof.certificate, token.name, proof.peer};
  return Caller(facts.Identity(), proof.name, GrantTo(facts), proof.peer.User());
}

absl::StatusOr<AccessControl::ValidToken> AccessControl::TokenOf(const CallProof& proof) const {
  if (!options_.is_tls && !proof.peer.IsLocal()) {
    return MakeError(ErrorReason::TOKEN_IN_PLAIN_TEXT,
                     "The token came without TLS from another machine, so others may know it: it "
                     "is not taken, and should be revoked.");
  }
  absl::string_view token = proof.authorization;
  // The name of the scheme is the same in any case of its letters.
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(token, kScheme)) {
    return InvalidCredentials("The metadata authorization must be \"Bearer \" and a token.");
  }
  token.remove_prefix(kScheme.size());
  const std::shared_ptr<const TokenLookup> known = tokens_.Get();
  const TokenEntry* const entry = known->Find(token);
  // Whoever has no valid token need not know whether there ever was such a one.
  if (entry == nullptr || !IsCurrent(entry->expires)) {
    return InvalidCredentials("The token is unknown, expired or revoked.");
  }
  return ValidToken{entry->name, entry->expires};
}

std::shared_ptr<const AccessGrant> AccessControl::GrantOf(const PeerIdentity& peer) const {
  return GrantTo({"", "", peer});
}

absl::Status AccessControl::CheckUser(UserId uid, Role role) const {
  const CallerFacts facts = {"", "", PeerOfUser(uid)};
  return Caller(facts.Identity(), "", GrantTo(facts)).Check(role);
}

std::shared_ptr<const AccessGrant> AccessControl::GrantTo(const CallerFacts& caller) const {
  if (!options_.policy_file.empty()) return policy_.Get()->GrantOf(caller);
  const bool is_trusted =
      !caller.certificate.empty() || !caller.token.empty() || caller.peer.IsLocal();
  return is_trusted ? FullGrant() : strangers_;
}

std::shared_ptr<const AccessGrant> AccessControl::GrantOfStrangers(const AccessOptions& options) {
  RoleSet roles = {Role::kHealth, Role::kReflection};
  if (options.allow_anonymous) {
    for (const Role role : {Role::kExecute, Role::kTensors, Role::kObserve}) roles.Add(role);
  }
  return std::make_shared<AccessGrant>(AccessGrant{.roles = roles, .is_anonymous = true});
}

absl::Status AccessControl::ReadPolicy() {
  if (options_.policy_file.empty()) return absl::OkStatus();
  absl::StatusOr<AccessPolicy> policy = ReadPolicyFile(options_.policy_file);
  if (!policy.ok()) return policy.status();
  policy_.Set(*std::move(policy));
  version_.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status AccessControl::ReadTokens() {
  absl::StatusOr<TokenList> tokens = TokenList();
  if (!options_.tokens_file.empty()) tokens = TokenList::Read(options_.tokens_file);
  if (!tokens.ok()) return tokens.status();
  tokens_.Set(*std::move(tokens));
  version_.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status AccessControl::Reload() {
  absl::Status status = policy_files_.Reload();
  status.Update(tokens_files_.Reload());
  return status;
}

void AccessControl::ReadChanged() {
  policy_files_.ReadChanged();
  tokens_files_.ReadChanged();
}

}  // namespace opserve
