#include "server/regions/region.h"

namespace opserve {

std::byte* Region::At(uint64_t offset, uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) return nullptr;
  return mapping_->data() + offset;
}

bool Region::IsSameMemoryAs(const Region& other) const {
  return device_ == other.device_ && inode_ == other.inode_;
}

bool Overlap(const RegionSlice& a, const RegionSlice& b) {
  return a.region->IsSameMemoryAs(*b.region) && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool AreSame(const RegionSlice& a, const RegionSlice& b) {
  return a.region->IsSameMemoryAs(*b.region) && a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace opserve
