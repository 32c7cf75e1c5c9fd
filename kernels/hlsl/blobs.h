// File: kernels/hlsl/blobs.h
//
// The compiled GPU kernels (DXBC, shader model 5.1) that are part of the program. Constants; safe
// to use from any thread.

#ifndef OPSERVE_KERNELS_HLSL_BLOBS_H_
#define OPSERVE_KERNELS_HLSL_BLOBS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/hlsl/kernel_key.h"

namespace opserve::hlsl {

struct Blob {
  KernelKey key;
  // SourceHash of the text it was compiled from.
  uint64_t source_hash = 0;
  // Compressed by zlib; CodeOf() is what devices take.
  std::span<const std::byte> packed = {};
  // Bytes of the code.
  size_t code_bytes = 0;
};

// All compiled kernels. Several keys may share one code: then `packed` is the same.
std::span<const Blob> AllBlobs();

// The compiled kernel of `key`, or nullptr where there is none: the operator then runs elsewhere.
const Blob* FindBlob(const KernelKey& key);

// The code of `blob`, one of AllBlobs(), in some tens of microseconds. Empty if it is damaged.
std::vector<std::byte> CodeOf(const Blob& blob);

// The compiler that made them, with its version.
absl::string_view BlobCompiler();

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_BLOBS_H_
