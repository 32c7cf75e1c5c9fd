#include "server/regions/region_table.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/base/random_id.h"
#include "server/errors/errors.h"
#include "server/errors/host_ids.h"

namespace opserve {
namespace {

constexpr std::chrono::seconds kRetryDelay{1};

// What memory is mapped in at least.
constexpr uint64_t kPageBytes = 4096;

// The bytes of the pages that so many take; a number that leaves no room for that is far beyond
// every quota.
uint64_t PagesOf(uint64_t bytes) {
  const uint64_t over = bytes % kPageBytes;
  if (over == 0 || bytes > UINT64_MAX - kPageBytes) return bytes;
  return bytes + (kPageBytes - over);
}

absl::Status OverQuota(const RegionOwner& owner, const QuotaShortage& shortage,
                       absl::string_view unit) {
  return MakeRetryableError(
      ErrorReason::REGION_QUOTA,
      absl::StrCat(
          shortage.is_of_all ? "All users have" : absl::StrCat("User ", owner.user, " has"), " ",
          shortage.used, " ", unit, " of shared memory, in use included; with ", shortage.asked,
          " more they would exceed the quota of ", shortage.limit, "."),
      kRetryDelay, {{"limit", absl::StrCat(shortage.limit)}});
}

}  // namespace

RegionTable::RegionTable(const RegionLimits& limits)
    : limits_(limits),
      bytes_({.per_holder = limits.max_bytes_per_user, .of_all = limits.max_bytes_of_all}),
      regions_({.per_holder = limits.max_regions_per_user, .of_all = kMaxGuardedMappings}) {}

absl::StatusOr<std::string> RegionTable::Add(const RegionOwner& owner, const UniqueFd& fd,
                                             uint64_t bytes, RegionMemory memory,
                                             const RegionFields& fields) {
  if (absl::Status status = Reserve(owner, bytes); !status.ok()) return status;
  // Mapping takes time, so it is done without the lock.
  auto charged = std::make_shared<Charged>();
  absl::Status status = Charge(owner, bytes, *charged);
  if (status.ok()) {
    auto region = Region::Map(fd, bytes, memory, fields);
    status = region.status();
    if (region.ok()) charged->region = *std::move(region);
  }
  std::string id = status.ok() ? NewHostId(limits_.host) : std::string();
  MutexLock lock(mutex_);
  if (!status.ok()) {
    Release(owner.connection, bytes);
    return status;
  }
  const Region* const region = charged->region.get();
  entries_[id] = {owner.connection, owner.user, {std::move(charged), region}};
  return id;
}

absl::Status RegionTable::NotFound(absl::string_view id) const {
  return NotFoundHere(
      id, limits_.host,
      MakeError(ErrorReason::REGION_NOT_FOUND,
                absl::StrCat("There is no region \"", TruncateUtf8(id, 2 * kRandomIdLength),
                             "\"; it was never registered, or its connection has ended.")));
}

absl::Status RegionTable::Remove(const RegionOwner& owner, absl::string_view id) {
  // Outlives the lock: unmapping takes time.
  std::shared_ptr<const Region> removed;
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.connection != owner.connection) {
    return NotFound(id);
  }
  removed = std::move(found->second.region);
  entries_.erase(found);
  Release(owner.connection, removed->bytes());
  return absl::OkStatus();
}

void RegionTable::RemoveAll(const RegionOwner& owner) {
  std::vector<std::shared_ptr<const Region>> removed;
  MutexLock lock(mutex_);
  absl::erase_if(entries_, [&](auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (entry.second.connection != owner.connection) return false;
    Release(owner.connection, entry.second.region->bytes());
    removed.push_back(std::move(entry.second.region));
    return true;
  });
}

bool RegionTable::HasAny(const RegionOwner& owner) const {
  MutexLock lock(mutex_);
  return usage_.contains(owner.connection);
}

std::shared_ptr<const Region> RegionTable::Find(absl::string_view id, const RegionCaller& caller) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || !Admit(found->second, caller)) return nullptr;
  return found->second.region;
}

size_t RegionTable::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

bool RegionTable::Admit(Entry& entry, const RegionCaller& caller) {
  // Whatever else a foreign user shows, and it leaves the region to who comes next.
  if (caller.user && *caller.user != entry.user) return false;
  if (!entry.identity) entry.identity.emplace(caller.identity);
  return caller.user.has_value() || *entry.identity == caller.identity;
}

absl::Status RegionTable::Charge(const RegionOwner& owner, uint64_t bytes, Charged& region) {
  const std::string user = absl::StrCat(owner.user);
  QuotaTaking count = regions_.Take(user, 1, {user, owner.max_regions_of_user});
  if (count.shortage) return OverQuota(owner, *count.shortage, "regions");
  QuotaTaking taken = bytes_.Take(user, PagesOf(bytes), {user, owner.max_bytes_of_user});
  if (taken.shortage) return OverQuota(owner, *taken.shortage, "bytes");
  region.count = std::move(count.charge);
  region.bytes = std::move(taken.charge);
  return absl::OkStatus();
}

absl::Status RegionTable::Reserve(const RegionOwner& owner, uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto found = usage_.find(owner.connection);
  const Usage usage = found == usage_.end() ? Usage() : found->second;
  if (owner.is_connection &&
      (usage.regions >= limits_.max_regions || bytes > limits_.max_bytes - usage.bytes)) {
    return MakeRetryableError(
        ErrorReason::REGION_QUOTA,
        absl::StrCat("This connection has ", usage.regions, " regions of ", usage.bytes,
                     " bytes; with ", bytes, " more bytes it would exceed the quota of ",
                     limits_.max_regions, " regions and ", limits_.max_bytes, " bytes."),
        kRetryDelay, {{"limit", absl::StrCat(limits_.max_bytes)}});
  }
  // The sum may wrap where there is no such limit, until Charge refuses it and this is taken back.
  usage_[owner.connection] = {usage.bytes + bytes, usage.regions + 1};
  return absl::OkStatus();
}

void RegionTable::Release(uint64_t connection, uint64_t bytes) {
  Usage& usage = usage_[connection];
  usage.bytes -= bytes;
  if (--usage.regions == 0) usage_.erase(connection);
}

}  // namespace opserve
