#include "kernels/cpu/strided_copy.h"

#include <cstring>

namespace opserve::cpu {
namespace {

// Shorter runs are copied faster element by element than by a call.
constexpr uint64_t kMinRunOfMemcpy = 16;

// Elements as plain bits, so that nothing but a move happens to them.
template <class T>
void CopyRow(const CopyLoop& loop, const std::byte* from, std::byte* to) {
  if (loop.from_stride == sizeof(T) && loop.to_stride == sizeof(T) &&
      loop.count >= kMinRunOfMemcpy) {
    std::memcpy(to, from, loop.count * sizeof(T));
    return;
  }
  for (uint64_t i = 0; i < loop.count; ++i) {
    T element;
    std::memcpy(&element, from + i * loop.from_stride, sizeof(T));
    std::memcpy(to + i * loop.to_stride, &element, sizeof(T));
  }
}

template <class T>
void CopyLoops(const CopyLoop* loops, int count, const std::byte* from, std::byte* to) {
  if (count == 1) return CopyRow<T>(loops[0], from, to);
  const CopyLoop& outer = loops[count - 1];
  for (uint64_t i = 0; i < outer.count; ++i) {
    const std::byte* row_from = from + i * outer.from_stride;
    std::byte* row_to = to + i * outer.to_stride;
    if (count == 2) {
      CopyRow<T>(loops[0], row_from, row_to);
    } else {
      CopyLoops<T>(loops, count - 1, row_from, row_to);
    }
  }
}

}  // namespace

void CopyStrided(const CopyNest& nest, size_t element_size, const std::byte* from, std::byte* to) {
  constexpr CopyLoop kOneElement;
  const CopyLoop* loops = nest.loop_count == 0 ? &kOneElement : nest.loops.data();
  const int count = nest.loop_count == 0 ? 1 : nest.loop_count;
  switch (element_size) {
    case 1:
      return CopyLoops<uint8_t>(loops, count, from, to);
    case 2:
      return CopyLoops<uint16_t>(loops, count, from, to);
    case 4:
      return CopyLoops<uint32_t>(loops, count, from, to);
    default:
      return CopyLoops<uint64_t>(loops, count, from, to);
  }
}

}  // namespace opserve::cpu
