#include "server/regions/region.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

constexpr int kNeededSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

absl::Status Unusable(const RegionFields& fields, absl::string_view why) {
  const Violation violation{std::string(fields.memory),
                            absl::StrCat("The descriptor cannot be shared: ", why, ".")};
  return MakeViolationError(violation);
}

absl::Status WrongSize(const RegionFields& fields, uint64_t bytes, uint64_t available) {
  const Violation violation{
      std::string(fields.bytes),
      absl::StrCat("The number of bytes (", bytes, ") is not within 1 and the memory's size (",
                   available, ").")};
  return MakeViolationError(violation);
}

// In this order nothing is asked of a foreign file system: only memory has seals.
absl::Status CheckSeals(int fd, const RegionFields& fields) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Unusable(fields, "it is no memfd");
  if ((seals & kNeededSeals) != kNeededSeals) {
    return Unusable(fields, "it lacks the seals F_SEAL_SHRINK and F_SEAL_SEAL");
  }
  struct statfs system = {};
  // Freed huge pages cannot be had again at will, unlike others.
  if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return Unusable(fields, "it is no memfd of pages of the usual size");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Region>> Region::Map(const UniqueFd& fd, uint64_t bytes,
                                                          RegionMemory memory,
                                                          const RegionFields& fields) {
  if (memory == RegionMemory::kMemfd) {
    if (absl::Status status = CheckSeals(fd.get(), fields); !status.ok()) return status;
  }
  struct stat file = {};
  if (fstat(fd.get(), &file) != 0) return Unusable(fields, "it has no size");
  // Nothing depends on the size from here on: that of a segment can shrink.
  const auto available = static_cast<uint64_t>(file.st_size);
  if (bytes == 0 || bytes > available) return WrongSize(fields, bytes, available);
  auto mapping = GuardedMapping::Map(fd.get(), bytes);
  const absl::Status& status = mapping.status();
  if (absl::IsResourceExhausted(status)) {
    return MakeRetryableError(ErrorReason::REGION_QUOTA,
                              absl::StrCat("The region cannot be mapped: ", status.message(), "."),
                              std::chrono::seconds(1));
  }
  if (!status.ok()) return Unusable(fields, status.message());
  return std::shared_ptr<const Region>(
      new Region(*std::move(mapping), bytes, file.st_dev, file.st_ino));
}

}  // namespace opserve
