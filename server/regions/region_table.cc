#include "server/regions/region_table.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/base/random_id.h"
#include "server/errors/errors.h"

namespace opserve {

absl::Status RegionNotFound(absl::string_view id) {
  return MakeError(ErrorReason::REGION_NOT_FOUND,
                   absl::StrCat("There is no region \"", TruncateUtf8(id, 2 * kRandomIdLength),
                                "\"; it was never registered, or its connection has ended."));
}

absl::StatusOr<std::string> RegionTable::Add(Owner owner, const UniqueFd& fd, uint64_t bytes,
                                             RegionMemory memory) {
  if (absl::Status status = Reserve(owner, bytes); !status.ok()) return status;
  // Mapping takes time, so it is done without the lock.
  auto region = Region::Map(fd, bytes, memory);
  std::string id = region.ok() ? RandomId() : std::string();
  MutexLock lock(mutex_);
  if (!region.ok()) {
    Release(owner, bytes);
    return region.status();
  }
  entries_[id] = {owner, *std::move(region)};
  return id;
}

absl::Status RegionTable::Remove(Owner owner, absl::string_view id) {
  // Outlives the lock: unmapping takes time.
  std::shared_ptr<const Region> removed;
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.owner != owner) return RegionNotFound(id);
  removed = std::move(found->second.region);
  entries_.erase(found);
  Release(owner, removed->bytes());
  return absl::OkStatus();
}

void RegionTable::RemoveAll(Owner owner) {
  std::vector<std::shared_ptr<const Region>> removed;
  MutexLock lock(mutex_);
  absl::erase_if(entries_, [&](auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (entry.second.owner != owner) return false;
    Release(owner, entry.second.region->bytes());
    removed.push_back(std::move(entry.second.region));
    return true;
  });
}

std::shared_ptr<const Region> RegionTable::Find(absl::string_view id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.region;
}

size_t RegionTable::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

absl::Status RegionTable::Reserve(Owner owner, uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto found = usage_.find(owner);
  const Usage usage = found == usage_.end() ? Usage() : found->second;
  if (usage.regions >= limits_.max_regions || bytes > limits_.max_bytes - usage.bytes) {
    return MakeRetryableError(
        ErrorReason::REGION_QUOTA,
        absl::StrCat("This connection has ", usage.regions, " regions of ", usage.bytes,
                     " bytes; with ", bytes, " more bytes it would exceed the quota of ",
                     limits_.max_regions, " regions and ", limits_.max_bytes, " bytes."),
        std::chrono::seconds(1), {{"limit", absl::StrCat(limits_.max_bytes)}});
  }
  usage_[owner] = {usage.bytes + bytes, usage.regions + 1};
  return absl::OkStatus();
}

void RegionTable::Release(Owner owner, uint64_t bytes) {
  Usage& usage = usage_[owner];
  usage.bytes -= bytes;
  if (--usage.regions == 0) usage_.erase(owner);
}

}  // namespace opserve
