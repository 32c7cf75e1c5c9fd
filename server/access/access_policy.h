// File: server/access/access_policy.h
//
// Who may do what: rules of which the first that matches a caller holds.

#ifndef OPSERVE_SERVER_ACCESS_ACCESS_POLICY_H_
#define OPSERVE_SERVER_ACCESS_ACCESS_POLICY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/system_sockets.h"
#include "server/access/caller.h"
#include "server/base/user_id.h"

namespace opserve {

// Which callers a rule is for: "cert:*.farm.example", "token:ci-*", "uid:1000", "uid:*" or
// "address:10.0.0.0/8". In names `*` stands for any bytes, also none. A value type.
class CallerPattern {
 public:
  // INVALID_ARGUMENT with a message that says what is allowed.
  static absl::StatusOr<CallerPattern> Parse(absl::string_view text);

  bool Matches(const CallerFacts& caller) const;

  // Whether it looks at users of socket files, and whether at what is known of a connection before
  // any call: users or addresses.
  bool is_of_users() const { return kind_ == Kind::kUser; }
  bool is_of_peers() const { return kind_ == Kind::kUser || kind_ == Kind::kAddress; }

 private:
  enum class Kind { kCertificate, kToken, kUser, kAddress };

  CallerPattern() = default;

  Kind kind_ = Kind::kToken;
  // What the name must match.
  std::string glob_;
  // nullopt: every user.
  std::optional<UserId> uid_;
  // The first `prefix_bits_` bits of an IPv6 address, of an IPv4 address as the one that it is
  // mapped to.
  in6_addr prefix_ = {};
  int prefix_bits_ = 0;
};

// Whether `text` is what `glob` stands for: `*` is any bytes, everything else itself.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

// Immutable, and safe to use from any thread.
class AccessPolicy {
 public:
  struct Rule {
    std::vector<CallerPattern> patterns;
    std::shared_ptr<const AccessGrant> grant;
  };

  // `rules` in their order; who matches none has `others`.
  AccessPolicy(std::vector<Rule> rules, std::shared_ptr<const AccessGrant> others)
      : rules_(std::move(rules)), others_(std::move(others)) {}

  // The caller's grant.
  const std::shared_ptr<const AccessGrant>& GrantOf(const CallerFacts& caller) const;

 private:
  std::vector<Rule> rules_;
  std::shared_ptr<const AccessGrant> others_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_ACCESS_POLICY_H_
