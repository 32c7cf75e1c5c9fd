// The normal distribution in FLOAT64 lanes, of exactly widened FLOAT32 numbers. Included once per
// target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_NORMAL_DISTRIBUTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_NORMAL_DISTRIBUTION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_NORMAL_DISTRIBUTION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_NORMAL_DISTRIBUTION_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// P(-a) e^(a^2 / 2) in powers of w = (a - 6) / (a + 6), for a of 0 to 15, where P is the
// distribution function of the normal distribution: within 2^-53.7 of it.
inline constexpr std::array<double, 20> kNormalTailTerms = {
    0x1.095608c7b15f1p-4,   -0x1.f89d2352c0355p-4,  0x1.b17c5d341b10ap-4,   -0x1.4f7cb524849cdp-4,
    0x1.d17ec9c71bdd2p-5,   -0x1.1f2ab2c423950p-5,  0x1.3718190eb16b4p-6,   -0x1.21e1487b51990p-7,
    0x1.bffea257b5282p-9,   -0x1.09aba13fb519fp-10, 0x1.7a44c93ad44fep-13,  0x1.9f39245833cc3p-17,
    -0x1.580d25801e814p-16, 0x1.702846ce8debep-18,  0x1.f82265b6c4154p-22,  -0x1.84a81bb80c166p-21,
    0x1.03d2b046586aap-23,  0x1.5281d5241e835p-24,  -0x1.1bdc62c018aeap-26, -0x1.f50617f6f8e7bp-28};

// P(-a), for a of 0 to 15: half of 1 - erf(a / sqrt(2)).
template <DoubleTag D>
HWY_INLINE hn::Vec<D> NormalTailOf(D d, hn::Vec<D> a) {
  const auto six = hn::Set(d, 6);
  const auto w = hn::Div(hn::Sub(a, six), hn::Add(a, six));
  // The square of 24 digits is exact.
  const auto half_square = hn::Mul(hn::Mul(a, a), hn::Set(d, 0.5));
  return hn::Mul(PolynomialOf(d, w, kNormalTailTerms), ExpOf(d, hn::Neg(half_square)));
}

// x/2 (1 + erf(x / sqrt(2))) = x P(x) within 2^-46.5 of it, most of which is that of e^x. Below
// -15, where it is above -2^-160, it is -0; zeros keep their sign.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> GeluOf(D d, hn::Vec<D> x) {
  const auto limit = hn::Set(d, 15);
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  const auto tail = NormalTailOf(d, hn::Min(hn::Abs(x), limit));
  const auto result = hn::Mul(x, hn::IfThenElse(is_negative, tail, hn::Sub(hn::Set(d, 1), tail)));
  return hn::IfThenElse(hn::Lt(x, hn::Neg(limit)), hn::Set(d, -0.0), result);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_NORMAL_DISTRIBUTION_INL_H_
