#include "server/service/saturation.h"

#include <cstdint>

namespace opserve {
namespace {

// Of `parts` of a budget; at least one, so that none is full while nothing is held.
uint64_t PartOf(uint64_t budget, uint64_t parts, uint64_t of) {
  const uint64_t part = budget / of * parts + budget % of * parts / of;
  return part > 0 ? part : 1;
}

}  // namespace

bool Saturation::Sample(const Admission::Usage& held) {
  const auto is_above = [&](uint64_t parts, uint64_t of) {
    return held.requests >= PartOf(limits_.max_requests, parts, of) ||
           held.bytes >= PartOf(limits_.max_bytes, parts, of);
  };
  if (is_above(15, 16)) {
    is_full_ = true;
    calm_samples_ = 0;
  } else if (is_full_) {
    calm_samples_ = is_above(3, 4) ? 0 : calm_samples_ + 1;
    if (calm_samples_ == kCalmSamples) is_full_ = false;
  }
  return is_full_;
}

}  // namespace opserve
