// File: tests/fuzz/region_world.h
//
// Regions and resident tensors for fuzz_regions, and a model of which regions there must be.

#ifndef OPSERVE_TESTS_FUZZ_REGION_WORLD_H_
#define OPSERVE_TESTS_FUZZ_REGION_WORLD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/base/host_buffers.h"
#include "proto/packets/seqpacket.h"
#include "server/regions/region_table.h"
#include "server/resident/tensor_store.h"
#include "server/tensors/tensor_places.h"
#include "tests/fuzz/region_case.pb.h"
#include "tests/testing/test_segment.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::fuzz {

// Who makes the request.
inline constexpr char kClient[] = "client";

// Begins with regions r0 and r1, which are the same memfd, and with tensors t0 to t2 of kClient and
// t3 of somebody else. Not thread-safe.
class RegionWorld {
 public:
  RegionWorld();

  // Answers a packet. Aborts where the answer, or the table afterwards, is not what the rules of
  // regions.proto say.
  void Answer(const RegionPacket& packet);

  // Puts ids in place of the numbers of regions and tensors.
  void Name(v1::TensorPlace& place) const;
  void Name(v1::RegionRange& range) const { range.set_region(IdOf(range.region())); }

  PlaceParts parts() { return {regions_, tensors_}; }
  HostBufferPool& buffers() { return buffers_; }

 private:
  struct Entry {
    uint64_t owner = 0;
    uint64_t bytes = 0;
  };

  void AddTensor(const std::string& client, const TensorDesc& desc);
  UniqueFd Open(const Descriptor& descriptor) const;
  // Bytes of the memory that a packet offers with `descriptors` descriptors; 0 where it may not be
  // shared.
  uint64_t BytesOffered(const RegionPacket& packet, const v1::RegisterRegion& what,
                        size_t descriptors) const;
  // Whether the quota allows `bytes` of `available` bytes.
  bool MayRegister(uint64_t owner, uint64_t available, uint64_t bytes) const;
  void CheckTable();
  // The id that a case calls `name`, or `name`.
  std::string IdOf(const std::string& name) const;

  HostBufferPool buffers_{1 << 20};
  testing::SimulatedClock clock_;
  RegionTable regions_;
  TensorStore tensors_;
  UniqueFd shared_;
  testing::TestSegment segment_;
  std::vector<std::string> region_ids_;
  std::vector<std::string> handles_;
  // What must be in the table.
  std::map<std::string, Entry> model_;
};

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_REGION_WORLD_H_
