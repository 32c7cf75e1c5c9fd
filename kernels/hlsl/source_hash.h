// File: kernels/hlsl/source_hash.h
//
// Tells whether a compiled kernel was made from a text.

#ifndef OPSERVE_KERNELS_HLSL_SOURCE_HASH_H_
#define OPSERVE_KERNELS_HLSL_SOURCE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace opserve::hlsl {

// FNV-1a in 64 bits: finds stale blobs, guards against no attacker.
constexpr uint64_t SourceHash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_SOURCE_HASH_H_
