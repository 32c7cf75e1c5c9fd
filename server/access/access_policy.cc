#include "server/access/access_policy.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace opserve {
namespace {

constexpr int kMappedBits = 96;

absl::Status NoPattern(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" names no callers; allowed are \"cert:NAME\", \"token:NAME\" (with * for any "
                   "characters), \"uid:NUMBER\", \"uid:*\" and \"address:PREFIX\", such as "
                   "\"address:10.0.0.0/8\" or \"address:2001:db8::/32\""));
}

}  // namespace

bool MatchesGlob(absl::string_view glob, absl::string_view text) {
  size_t in_glob = 0;
  size_t in_text = 0;
  // Where the last star is, and the bytes that it stands for begin or end.
  size_t star = absl::string_view::npos;
  size_t star_end = 0;
  while (in_text < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      star_end = in_text;
    } else if (in_glob < glob.size() && glob[in_glob] == text[in_text]) {
      ++in_glob;
      ++in_text;
    } else if (star != absl::string_view::npos) {
      in_glob = star + 1;
      in_text = ++star_end;
    } else {
      return false;
    }
  }
  while (in_glob < glob.size() && glob[in_glob] == '*') ++in_glob;
  return in_glob == glob.size();
}

absl::StatusOr<CallerPattern> CallerPattern::Parse(absl::string_view text) {
  CallerPattern pattern;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "cert:") || absl::ConsumePrefix(&rest, "token:")) {
    if (!IsClientName(rest)) return NoPattern(text);
    pattern.kind_ = text.front() == 'c' ? Kind::kCertificate : Kind::kToken;
    pattern.glob_ = std::string(rest);
    return pattern;
  }
  if (absl::ConsumePrefix(&rest, "uid:")) {
    pattern.kind_ = Kind::kUser;
    if (rest == "*") return pattern;
    uint32_t uid = 0;
    if (!absl::SimpleAtoi(rest, &uid)) return NoPattern(text);
    pattern.uid_ = uid;
    return pattern;
  }
  if (!absl::ConsumePrefix(&rest, "address:")) return NoPattern(text);
  pattern.kind_ = Kind::kAddress;
  const size_t slash = rest.find('/');
  const std::optional<in6_addr> address = ParseIpAddress(rest.substr(0, slash));
  if (!address) return NoPattern(text);
  const int most_bits = rest.find(':') == absl::string_view::npos ? 32 : 128;
  int bits = most_bits;
  if (slash != absl::string_view::npos &&
      (!absl::SimpleAtoi(rest.substr(slash + 1), &bits) || bits < 0 || bits > most_bits)) {
    return NoPattern(text);
  }
  pattern.prefix_ = *address;
  pattern.prefix_bits_ = most_bits == 32 ? kMappedBits + bits : bits;
  return pattern;
}

bool CallerPattern::Matches(const CallerFacts& caller) const {
  switch (kind_) {
    case Kind::kCertificate:
      return !caller.certificate.empty() && MatchesGlob(glob_, caller.certificate);
    case Kind::kToken:
      return !caller.token.empty() && MatchesGlob(glob_, caller.token);
    case Kind::kUser:
      return caller.peer.transport == PeerTransport::kUnixSocket &&
             (!uid_ || *uid_ == caller.peer.uid);
    case Kind::kAddress:
      break;
  }
  const std::optional<in6_addr> address = caller.peer.Ip();
  if (!address) return false;
  const auto bytes = static_cast<size_t>(prefix_bits_ / 8);
  if (!std::equal(prefix_.s6_addr, prefix_.s6_addr + bytes, address->s6_addr)) return false;
  const int rest = prefix_bits_ % 8;
  return rest == 0 || ((prefix_.s6_addr[bytes] ^ address->s6_addr[bytes]) >> (8 - rest)) == 0;
}

const std::shared_ptr<const AccessGrant>& AccessPolicy::GrantOf(const CallerFacts& caller) const {
  for (const Rule& rule : rules_) {
    const auto matches = [&](const CallerPattern& pattern) { return pattern.Matches(caller); };
    if (std::any_of(rule.patterns.begin(), rule.patterns.end(), matches)) return rule.grant;
  }
  return others_;
}

}  // namespace opserve
