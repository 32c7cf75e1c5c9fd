// File: server/regions/region.h
//
// Memory that a program on this machine shares with the server.

#ifndef OPSERVE_SERVER_REGIONS_REGION_H_
#define OPSERVE_SERVER_REGIONS_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/packets/unique_fd.h"
#include "server/regions/guarded_mapping.h"

namespace opserve {

// What is mapped.
enum class RegionMemory {
  // A memfd, which must be sealed against shrinking and further seals.
  kMemfd,
  // A segment of POSIX shared memory, which may be cut off at any time: it counts as zeros then.
  kSegment,
};

// The fields of the request that asks for a region, as errors name them: that of the memory, and
// that of the number of its bytes. They are those of opserve's own requests unless others are
// given.
struct RegionFields {
  absl::string_view memory = "register";
  absl::string_view bytes = "register.bytes";
};

// The first bytes of memory of another process, which may change them at any time. Whoever has the
// object may use the bytes; whose calls get it is for RegionTable::Find to say. Thread-safe; the
// memory stays mapped while the object lives, whatever becomes of the other process.
class Region {
 public:
  // Maps `bytes` bytes of `fd`. INVALID_REQUEST unless it has at least that size, is open for
  // reading and writing, and, of a memfd, has the seals; REGION_QUOTA where there are too many
  // mappings. `fd` must be a segment where `memory` says so. `fields`: what errors are about.
  static absl::StatusOr<std::shared_ptr<const Region>> Map(
      const UniqueFd& fd, uint64_t bytes, RegionMemory memory = RegionMemory::kMemfd,
      const RegionFields& fields = {});

  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  uint64_t bytes() const { return bytes_; }

  // The bytes from `offset` on, `bytes` of them; nullptr where not all of them are in the region.
  std::byte* At(uint64_t offset, uint64_t bytes) const;

  // Whether both are views of one file, whose bytes then have the same offsets in both.
  bool IsSameMemoryAs(const Region& other) const;

 private:
  Region(std::unique_ptr<GuardedMapping> mapping, uint64_t bytes, uint64_t device, uint64_t inode)
      : mapping_(std::move(mapping)), bytes_(bytes), device_(device), inode_(inode) {}

  const std::unique_ptr<GuardedMapping> mapping_;
  const uint64_t bytes_;
  const uint64_t device_;
  const uint64_t inode_;
};

// Some bytes of a region.
struct RegionSlice {
  std::shared_ptr<const Region> region;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  // nullptr where not all of them are in the region.
  std::byte* data() const { return region->At(offset, bytes); }
};

// Whether two slices, each within its region, have bytes in common. Stateless.
bool Overlap(const RegionSlice& a, const RegionSlice& b);

// Whether two slices are the very same bytes. Stateless.
bool AreSame(const RegionSlice& a, const RegionSlice& b);

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_REGION_H_
