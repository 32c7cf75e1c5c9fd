// File: server/access/token_list.h
//
// The bearer tokens that callers may show, of which the server knows the hashes alone.

#ifndef OPSERVE_SERVER_ACCESS_TOKEN_LIST_H_
#define OPSERVE_SERVER_ACCESS_TOKEN_LIST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/base/sha256.h"

namespace opserve {

// With what every token begins, so that it is known where it should not be.
inline constexpr char kTokenPrefix[] = "opserve_";

// A token with 256 bits of the operating system. Throws std::system_error where it has none.
std::string MakeToken();

// What is known of a token.
struct TokenEntry {
  std::string name;
  // The hash of the whole token.
  Sha256Digest hash = {};
  // From then on it is of no use.
  absl::Time expires = absl::InfiniteFuture();
};

// As in the file: one line for each, with the name, the hash as hexadecimal digits and, if there is
// one, the time when it expires (2027-01-31T00:00:00Z), with spaces between them. Names have no
// spaces. Empty lines and those that begin with '#' say nothing. Not thread-safe, but for functions
// that are const.
class TokenList {
 public:
  // INVALID_ARGUMENT with a message that names `file`, the line, and what is allowed there.
  static absl::StatusOr<TokenList> Parse(absl::string_view text, const std::string& file);
  // The same for a file, which may have kMaxAccessFileBytes. NOT_FOUND where it cannot be read.
  static absl::StatusOr<TokenList> Read(const std::string& file);

  // What Parse reads.
  std::string ToText() const;

  // Adds the hash of `token`. INVALID_ARGUMENT where the name is not allowed, ALREADY_EXISTS where
  // there is one of that name.
  absl::Status Add(absl::string_view name, absl::string_view token, absl::Time expires);
  // Whether there was one of that name.
  bool Remove(absl::string_view name);

  const std::vector<TokenEntry>& entries() const { return entries_; }

  // The entry of `token`, expired or not; nullptr where there is none. Takes as long for each list,
  // whatever the token is, so that nobody learns from the time how much of one was right.
  const TokenEntry* Find(absl::string_view token) const;

 private:
  const TokenEntry* FindName(absl::string_view name) const;

  std::vector<TokenEntry> entries_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_TOKEN_LIST_H_
