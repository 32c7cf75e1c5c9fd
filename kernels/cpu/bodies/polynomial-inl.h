// Polynomials in FLOAT64 and FLOAT32 lanes. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_POLYNOMIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_POLYNOMIAL_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_POLYNOMIAL_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_POLYNOMIAL_INL_H_
#endif

#include <array>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Of the coefficients for FLOAT64 and those for FLOAT32 lanes, the ones for these.
template <FloatTag D, class Doubles, class Floats>
constexpr const auto& TermsFor(D /*tag*/, const Doubles& doubles, const Floats& floats) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return doubles;
  } else {
    return floats;
  }
}

// Every kStep-th coefficient from kFrom on, by Horner's rule.
template <size_t kFrom, size_t kStep, FloatTag D, size_t kTerms>
HWY_INLINE hn::Vec<D> HornerOf(D d, [[maybe_unused]] hn::Vec<D> x,
                               const std::array<hn::TFromD<D>, kTerms>& coefficients) {
  const auto first = hn::Set(d, coefficients[kFrom]);
  if constexpr (kFrom + kStep >= kTerms) {
    return first;
  } else {
    return hn::MulAdd(HornerOf<kFrom + kStep, kStep>(d, x, coefficients), x, first);
  }
}

// The sum of coefficients[i] * x^i. Even and odd powers apart: each step waits for half as many.
template <FloatTag D, size_t kTerms>
HWY_INLINE hn::Vec<D> PolynomialOf(D d, hn::Vec<D> x,
                                   const std::array<hn::TFromD<D>, kTerms>& coefficients) {
  static_assert(kTerms >= 2);
  const auto square = hn::Mul(x, x);
  const auto even = HornerOf<0, 2>(d, square, coefficients);
  const auto odd = HornerOf<1, 2>(d, square, coefficients);
  return hn::MulAdd(odd, x, even);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_POLYNOMIAL_INL_H_
