// File: server/access/token_lookup.h
//
// Finds tokens as fast as calls come.

#ifndef OPSERVE_SERVER_ACCESS_TOKEN_LOOKUP_H_
#define OPSERVE_SERVER_ACCESS_TOKEN_LOOKUP_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/access/token_list.h"

namespace opserve {

// A list and the tokens of it that were shown, which need not be hashed again: that would be a
// tenth of what the server does for a small call. What proves nothing is not kept, so there is no
// more of them than the list has. Thread-safe.
class TokenLookup {
 public:
  explicit TokenLookup(TokenList list) : list_(std::move(list)) {}

  // The entry of `token`, expired or not; nullptr where there is none. Lives as long as the lookup.
  // Throws std::bad_alloc.
  const TokenEntry* Find(absl::string_view token) const;

 private:
  const TokenList list_;
  mutable Mutex mutex_;
  mutable absl::flat_hash_map<std::string, const TokenEntry*> shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_TOKEN_LOOKUP_H_
