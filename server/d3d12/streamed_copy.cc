#include "server/d3d12/streamed_copy.h"

#include <algorithm>
#include <cstring>

// Part of every x86-64. Highway has the same for all processors, but not every build of this layer
// has Highway.
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define OPSERVE_HAS_STREAMED_STORES 1
#endif

namespace opserve::d3d12 {
namespace {

// Of a cache, which stores fill as a whole before it goes to memory.
constexpr uint64_t kLineBytes = 64;

#ifdef OPSERVE_HAS_STREAMED_STORES
// `to` is the beginning of a line.
void StreamLine(std::byte* to, const std::byte* from) {
  for (size_t at = 0; at < kLineBytes; at += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), bytes);
  }
}

// Or what says that all is copied could be seen before it is.
void FlushStores() { _mm_sfence(); }
#else
void StreamLine(std::byte* to, const std::byte* from) { std::memcpy(to, from, kLineBytes); }

void FlushStores() {}
#endif

}  // namespace

void StreamedCopy(std::byte* to, const std::byte* from, uint64_t bytes) {
  const uint64_t behind = reinterpret_cast<uintptr_t>(to) % kLineBytes;
  const uint64_t head = std::min(bytes, (kLineBytes - behind) % kLineBytes);
  std::memcpy(to, from, head);
  uint64_t at = head;
  for (; at + kLineBytes <= bytes; at += kLineBytes) StreamLine(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
  FlushStores();
}

}  // namespace opserve::d3d12
