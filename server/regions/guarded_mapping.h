// File: server/regions/guarded_mapping.h
//
// A mapping of shared memory whose use cannot kill the process.

#ifndef OPSERVE_SERVER_REGIONS_GUARDED_MAPPING_H_
#define OPSERVE_SERVER_REGIONS_GUARDED_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace opserve {

// An entry of the list that the signal handler walks.
struct GuardSlot;

// Most guarded mappings of a process at a time.
inline constexpr size_t kMaxGuardedMappings = 4096;

// Memory of a file, mapped for reading and writing. The system sends SIGBUS where a page of the
// file cannot be had: it was cut off, or freed by whoever shares the file and there is no memory
// for another. A handler then puts zeros of the process itself in place of the whole mapping, which
// has nothing in common with the file from there on; the access is repeated and goes through.
// Mapping takes no memory: pages come with their first use.
//
// The handler is installed with the first mapping and passes on what concerns none of them.
// Thread-safe: the memory may be used by any number of threads while the object lives.
class GuardedMapping {
 public:
  // Maps the first `bytes` bytes of `fd`, which may be closed afterwards. RESOURCE_EXHAUSTED where
  // there are too many mappings or no address space; INVALID_ARGUMENT where the file cannot be
  // mapped for writing.
  static absl::StatusOr<std::unique_ptr<GuardedMapping>> Map(int fd, uint64_t bytes);

  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

  // Whether the memory has been replaced.
  bool is_cut_off() const;

 private:
  GuardedMapping(std::byte* data, uint64_t size, GuardSlot& slot)
      : data_(data), size_(size), slot_(slot) {}

  std::byte* const data_;
  const uint64_t size_;
  GuardSlot& slot_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_GUARDED_MAPPING_H_
