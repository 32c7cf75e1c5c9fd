// Sums of power series.

#ifndef OPSERVE_KERNELS_CPU_SLOW_SERIES_H_
#define OPSERVE_KERNELS_CPU_SLOW_SERIES_H_

#include <array>
#include <cstddef>

#include "kernels/cpu/slow/double_double.h"

namespace opserve::cpu::slow {

template <size_t kSize>
using Coefficients = std::array<DoubleDouble, kSize>;

// c[0] + c[1] * x + c[2] * x^2 + ...
template <size_t kSize>
constexpr DoubleDouble SumOfPowers(const Coefficients<kSize>& c, const DoubleDouble& x) {
  DoubleDouble sum = c[kSize - 1];
  for (size_t i = kSize - 1; i-- > 0;) sum = c[i] + x * sum;
  return sum;
}

// The coefficients of 1 / first! + x / (first + step)! + x^2 / (first + 2 * step)! + ...
template <size_t kSize>
constexpr Coefficients<kSize> ReciprocalFactorials(int first, int step) {
  Coefficients<kSize> c;
  DoubleDouble factorial = 1;
  int n = 1;
  for (size_t i = 0; i < kSize; ++i) {
    const int last = first + static_cast<int>(i) * step;
    for (; n <= last; ++n) factorial = factorial * static_cast<double>(n);
    c[i] = DoubleDouble(1) / factorial;
  }
  return c;
}

// Those of 1 / first + x / (first + step) + x^2 / (first + 2 * step) + ...
template <size_t kSize>
constexpr Coefficients<kSize> ReciprocalNumbers(int first, int step) {
  Coefficients<kSize> c;
  for (size_t i = 0; i < kSize; ++i) {
    c[i] = DoubleDouble(1) / static_cast<double>(first + static_cast<int>(i) * step);
  }
  return c;
}

// Every second one negative.
template <size_t kSize>
constexpr Coefficients<kSize> WithAlternatingSigns(Coefficients<kSize> c) {
  for (size_t i = 1; i < kSize; i += 2) c[i] = -c[i];
  return c;
}

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_SERIES_H_
