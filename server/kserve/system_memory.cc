#include "server/kserve/system_memory.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"
#include "server/regions/posix_segment.h"

namespace opserve {
namespace {

// Longest name in bytes, as far as clients are known to make them.
constexpr size_t kMaxNameBytes = 256;

// Numbers of owners that no connection to the socket of regions has: those count from 1.
constexpr uint64_t kFirstOwner = uint64_t{1} << 63;

}  // namespace

SystemMemory::~SystemMemory() {
  absl::flat_hash_map<UserId, Segments> left;
  {
    MutexLock lock(mutex_);
    left.swap(segments_);
  }
  for (const auto& [user, segments] : left) table_.RemoveAll(OwnerOf(user));
}

RegionOwner SystemMemory::OwnerOf(UserId user) {
  return {.connection = kFirstOwner + user, .user = user, .is_connection = false};
}

absl::Status SystemMemory::Register(const Caller& caller,
                                    const inference::SystemSharedMemoryRegisterRequest& request) {
  if (!takes_names_) return SegmentsOffError();
  if (!caller.user()) {
    return MakeError(ErrorReason::POSIX_SHARED_MEMORY_OFF,
                     "Memory of this machine is registered over a socket file (unix:/path), which "
                     "tells the server whose right to it counts; this call came another way.");
  }
  if (request.name().empty() || request.name().size() > kMaxNameBytes) {
    return MakeViolationError(
        {"name", absl::StrCat("The name has ", request.name().size(), " bytes; allowed are 1 to ",
                              kMaxNameBytes, ".")});
  }
  const uint64_t bytes = request.offset() + request.byte_size();
  if (request.byte_size() == 0 || bytes < request.offset()) {
    return MakeViolationError(
        {"byte_size", absl::StrCat(request.byte_size(), " bytes from ", request.offset(),
                                   " on are no part of a segment.")});
  }
  RegionOwner owner = OwnerOf(*caller.user());
  owner.max_bytes_of_user = caller.grant().max_region_bytes;
  owner.max_regions_of_user = caller.grant().max_regions;
  const auto fd = OpenSegment(request.key(), Peer{owner.user, {}}, "key");
  if (!fd.ok()) return fd.status();
  // The name is taken before there is a region, so that it is given once.
  {
    MutexLock lock(mutex_);
    const bool is_new = segments_[owner.user].emplace(request.name(), Segment()).second;
    if (!is_new) {
      return MakeViolationError({"name", absl::StrCat("There is a region ", Quoted(request.name()),
                                                      " already; it must be unregistered first.")});
    }
  }
  auto region = table_.Add(owner, *fd, bytes, RegionMemory::kSegment,
                           {.memory = "key", .bytes = "byte_size"});
  MutexLock lock(mutex_);
  if (!region.ok()) {
    Forget(owner.user, request.name());
    return region.status();
  }
  segments_[owner.user][request.name()] = {request.key(), request.offset(), request.byte_size(),
                                           *std::move(region)};
  return absl::OkStatus();
}

void SystemMemory::Forget(UserId user, const std::string& name) {
  const auto found = segments_.find(user);
  found->second.erase(name);
  if (found->second.empty()) segments_.erase(found);
}

void SystemMemory::Unregister(const Caller& caller, const std::string& name) {
  if (!caller.user()) return;
  const RegionOwner owner = OwnerOf(*caller.user());
  std::map<std::string, std::string> removed;
  {
    MutexLock lock(mutex_);
    const auto found = segments_.find(owner.user);
    if (found == segments_.end()) return;
    for (const auto& [known, segment] : found->second) {
      // One that is about to be registered is not there yet.
      const bool is_meant = name.empty() || name == known;
      if (is_meant && !segment.region.empty()) removed.emplace(known, segment.region);
    }
    for (const auto& [known, region] : removed) Forget(owner.user, known);
  }
  // It is there as long as it is known here.
  for (const auto& [known, region] : removed) static_cast<void>(table_.Remove(owner, region));
}

void SystemMemory::Describe(const Caller& caller, const std::string& name,
                            inference::SystemSharedMemoryStatusResponse& out) const {
  if (!caller.user()) return;
  MutexLock lock(mutex_);
  const auto found = segments_.find(*caller.user());
  if (found == segments_.end()) return;
  for (const auto& [known, segment] : found->second) {
    if (segment.region.empty() || (!name.empty() && name != known)) continue;
    auto& status = (*out.mutable_regions())[known];
    status.set_name(known);
    status.set_key(segment.key);
    status.set_offset(segment.offset);
    status.set_byte_size(segment.bytes);
  }
}

v1::RegionRange SystemMemory::RangeOf(const Caller& caller, const std::string& name,
                                      uint64_t offset, uint64_t bytes, const std::string& field,
                                      ViolationList& violations) const {
  v1::RegionRange range;
  MutexLock lock(mutex_);
  const auto user = caller.user() ? segments_.find(*caller.user()) : segments_.end();
  const Segment* segment = nullptr;
  if (user != segments_.end()) {
    const auto found = user->second.find(name);
    if (found != user->second.end() && !found->second.region.empty()) segment = &found->second;
  }
  if (segment == nullptr) {
    violations.Add(field, "There is no region ", Quoted(name), " of this caller.");
    return range;
  }
  if (offset > segment->bytes || bytes > segment->bytes - offset) {
    violations.Add(field, "The region has ", segment->bytes, " bytes; ", bytes, " from ", offset,
                   " on are not in it.");
    return range;
  }
  range.set_region(segment->region);
  range.set_offset(segment->offset + offset);
  range.set_bytes(bytes);
  return range;
}

}  // namespace opserve
