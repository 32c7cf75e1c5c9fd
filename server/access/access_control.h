// File: server/access/access_control.h
//
// Tells who sends a call and what he may do, by files that are read again while the server runs.

#ifndef OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_
#define OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/access/access_policy.h"
#include "server/access/caller.h"
#include "server/access/known_caller.h"
#include "server/access/token_lookup.h"
#include "server/base/log.h"
#include "server/base/published.h"
#include "server/base/user_id.h"
#include "server/base/watched_files.h"

namespace opserve {

struct AccessOptions {
  // The policy (server/access/policy_file.h). Empty: callers on this machine, and those with a
  // token or a certificate, have every role.
  std::string policy_file;
  // Without a policy file: whether callers of other machines may use the server without a proof.
  bool allow_anonymous = false;
  // The hashes of tokens (server/access/token_list.h); empty: no token is taken.
  std::string tokens_file;
  // Whether all connections have TLS, so that tokens may come from other machines.
  bool is_tls = false;
};

// Thread-safe, but for Reload and ReadChanged, which belong to one thread at a time.
class AccessControl {
 public:
  // Reads the files; fails as their readers do. `logger` must outlive the object. `now` tells when
  // tokens expire, on any thread.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Load(const AccessOptions& options,
                                                             Logger& logger,
                                                             absl::Time (*now)() = &absl::Now);

  // Who sends a call. CREDENTIALS_INVALID where he shows something that proves nothing,
  // TOKEN_IN_PLAIN_TEXT where others could have seen his token, and
  // INVALID_REQUEST where the name that he gives himself is not allowed. Calls that are under way
  // keep what they were granted here.
  absl::StatusOr<Caller> Identify(const CallProof& proof) const;

  // The same for who is known by a token without a certificate. `known`: what this made of the last
  // such call on the connection, or nullptr; set to another where the caller is not the one in it,
  // and to nullptr where too much would have to be kept of him.
  absl::StatusOr<Caller> Identify(const CallProof& proof,
                                  std::shared_ptr<const KnownCaller>& known) const;

  // What is granted to whoever has proven nothing but where he is, or, by a socket file, which user
  // he is.
  std::shared_ptr<const AccessGrant> GrantOf(const PeerIdentity& peer) const;

  // OK where the user of this machine has `role`; else as Caller::Check.
  absl::Status CheckUser(UserId uid, Role role) const;

  // Whether there is any file that may change.
  bool has_files() const { return policy_files_.has_files() || tokens_files_.has_files(); }

  // Reads all files again. One that is broken changes nothing, and is logged; the first error is
  // returned.
  absl::Status Reload();

  // The same for those that have changed since they were read.
  void ReadChanged();

 private:
  AccessControl(const AccessOptions& options, Logger& logger, absl::Time (*now)())
      : options_(options),
        now_(now),
        strangers_(GrantOfStrangers(options)),
        policy_files_(
            {kPolicyReadEvent, kPolicyKeptEvent}, {options.policy_file},
            [this] { return ReadPolicy(); }, logger),
        tokens_files_(
            {kTokensReadEvent, kTokensKeptEvent}, {options.tokens_file},
            [this] { return ReadTokens(); }, logger) {}

  static constexpr absl::string_view kPolicyReadEvent = "policy read";
  static constexpr absl::string_view kPolicyKeptEvent = "policy kept";
  static constexpr absl::string_view kTokensReadEvent = "tokens read";
  static constexpr absl::string_view kTokensKeptEvent = "tokens kept";

  // What callers of other machines have without a proof, where there is no policy file.
  static std::shared_ptr<const AccessGrant> GrantOfStrangers(const AccessOptions& options);

  absl::Status ReadPolicy();
  absl::Status ReadTokens();
  // What is true of the token that the metadata has.
  struct ValidToken {
    std::string name;
    absl::Time expires = absl::InfiniteFuture();
  };
  absl::StatusOr<ValidToken> TokenOf(const CallProof& proof) const;
  // Whether a token that expires then may be used now.
  bool IsCurrent(absl::Time expires) const {
    return expires == absl::InfiniteFuture() || expires > now_();
  }
  // Sets `token` where one is shown.
  absl::StatusOr<Caller> IdentifyWith(const CallProof& proof, ValidToken& token) const;
  // What is granted by the policy or, without a file of it, by what is known of the caller.
  std::shared_ptr<const AccessGrant> GrantTo(const CallerFacts& caller) const;

  const AccessOptions options_;
  absl::Time (*const now_)();
  const std::shared_ptr<const AccessGrant> strangers_;
  // Nothing where there is no policy file.
  Published<AccessPolicy> policy_;
  Published<TokenLookup> tokens_;
  // Goes up after each change of these two.
  std::atomic<uint64_t> version_ = 0;
  // Used by the thread that reads files alone.
  WatchedFiles policy_files_;
  WatchedFiles tokens_files_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_
