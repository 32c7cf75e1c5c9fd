// Rows of HARDMAX. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_HARDMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_HARDMAX_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_HARDMAX_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_HARDMAX_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Floats in their order as integers: equal zeros, and NaN below all numbers.
template <class T>
HWY_INLINE int32_t OrderOf(const std::byte* element) {
  constexpr bool kIsFloat16 = sizeof(T) == 2;
  using Bits = std::conditional_t<kIsFloat16, uint16_t, uint32_t>;
  Bits bits;
  std::memcpy(&bits, element, sizeof(bits));
  constexpr int32_t kInfinity = kIsFloat16 ? 0x7C00 : 0x7F800000;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = static_cast<int32_t>(bits & ~kSign);
  if (magnitude > kInfinity) return std::numeric_limits<int32_t>::min();
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

// 1 at the first maximum, +0 elsewhere. A NaN counts in first place only, where nothing is greater.
template <class T>
void HardmaxRow(const std::byte* x, std::byte* y, size_t count) {
  size_t chosen = 0;
  int32_t most = OrderOf<T>(x);
  const bool starts_with_nan = most == std::numeric_limits<int32_t>::min();
  for (size_t i = 1; i < count && !starts_with_nan; ++i) {
    const int32_t order = OrderOf<T>(x + i * sizeof(T));
    if (HWY_LIKELY(order <= most)) continue;
    most = order;
    chosen = i;
  }
  std::memset(y, 0, count * sizeof(T));
  const uint32_t one = sizeof(T) == 2 ? 0x3C00 : 0x3F800000;
  std::memcpy(y + chosen * sizeof(T), &one, sizeof(T));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_HARDMAX_INL_H_
