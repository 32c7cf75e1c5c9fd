#include "server/access/token_lookup.h"

namespace opserve {

const TokenEntry* TokenLookup::Find(absl::string_view token) const {
  {
    MutexLock lock(mutex_);
    const auto found = shown_.find(token);
    if (found != shown_.end()) return found->second;
  }
  const TokenEntry* const entry = list_.Find(token);
  if (entry == nullptr) return nullptr;
  MutexLock lock(mutex_);
  shown_.emplace(token, entry);
  return entry;
}

}  // namespace opserve
