// File: server/access/access_control.h
//
// Tells who sends a call and what he may do, by files that are read again while the server runs.

#ifndef OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_
#define OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/base/mutex.h"
#include "server/access/access_file.h"
#include "server/access/access_policy.h"
#include "server/access/call_proof.h"
#include "server/access/caller.h"
#include "server/access/token_list.h"
#include "server/base/log.h"

namespace opserve {

struct AccessOptions {
  // The policy (server/access/policy_file.h); empty: that of AccessPolicy::WithoutFile.
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

  // OK where the user of this machine has `role`; else as Caller::Check.
  absl::Status CheckUser(uid_t uid, Role role) const;

  // Whether there is any file that may change.
  bool has_files() const { return !options_.policy_file.empty() || !options_.tokens_file.empty(); }

  // Reads all files again. One that is broken changes nothing, and is logged; the first of their
  // errors.
  absl::Status Reload();

  // The same for those that have changed since they were read.
  void ReadChanged();

 private:
  AccessControl(const AccessOptions& options, Logger& logger, absl::Time (*now)())
      : options_(options),
        logger_(logger),
        now_(now),
        policy_watch_(options.policy_file),
        tokens_watch_(options.tokens_file) {}

  std::shared_ptr<const AccessPolicy> policy() const;
  absl::Status ReadPolicy();
  absl::Status ReloadPolicy();
  std::shared_ptr<const TokenList> tokens() const;
  absl::Status ReadTokens();
  absl::Status ReloadTokens();
  // The name of the token that the metadata has.
  absl::StatusOr<std::string> NameOfToken(const CallProof& proof) const;

  const AccessOptions options_;
  Logger& logger_;
  absl::Time (*const now_)();
  // Of the thread that reads files.
  FileWatch policy_watch_;
  FileWatch tokens_watch_;
  mutable Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TokenList> tokens_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_ACCESS_CONTROL_H_
