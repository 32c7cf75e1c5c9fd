#include "opserve/compare.h"

namespace opserve {

UlpRange UlpRangeOf(size_t bucket) {
  if (bucket < 3) return {bucket, bucket};
  const uint64_t below = uint64_t{1} << (bucket - 2);
  // Twice the largest power of two is no number of 64 bits.
  return {below + 1, bucket + 1 == Comparison::kUlpBuckets ? UINT64_MAX : 2 * below};
}

}  // namespace opserve
