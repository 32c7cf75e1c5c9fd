// File: kernels/cpu/cache_size.h
//
// How much the processor's caches hold.

#ifndef OPSERVE_KERNELS_CPU_CACHE_SIZE_H_
#define OPSERVE_KERNELS_CPU_CACHE_SIZE_H_

#include <cstdint>

namespace opserve {

// Bytes of one last-level cache (L3); 0 where the system does not tell. Safe to use from any
// thread.
uint64_t LastLevelCacheBytes();

}  // namespace opserve

#endif  // OPSERVE_KERNELS_CPU_CACHE_SIZE_H_
