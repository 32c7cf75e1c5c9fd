// Inverse hyperbolic functions, in FLOAT64 lanes, and in FLOAT32 lanes for results of FLOAT16:
// logarithms, and polynomials near zero, where those would cancel. Included once per target. Errors
// are relative ones, also near zero; those that are told are of FLOAT64 lanes.

#if defined(OPSERVE_KERNELS_CPU_BODIES_INVERSE_HYPERBOLIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_INVERSE_HYPERBOLIC_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_INVERSE_HYPERBOLIC_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_INVERSE_HYPERBOLIC_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ ASINH, ATANH

// asinh(x) / x and atanh(x) / x as polynomials of x^2, |x| <= 1/8: errors 2^-52.7 and 2^-50.4.
inline constexpr std::array kAsinh = {0x1.0000000000000p+0, -0x1.5555555551f6cp-3,
                                      0x1.3333331b4739ap-4, -0x1.6db6a43b81e58p-5,
                                      0x1.f18f71ed67ec0p-6, -0x1.61c0f7498cbc1p-6};
inline constexpr std::array kAtanh = {0x1.0000000000000p+0, 0x1.555555555d734p-2,
                                      0x1.9999996031428p-3, 0x1.24928b05a190dp-3,
                                      0x1.c6da90b93fb29p-4, 0x1.8340e9271be7cp-4};
// For FLOAT32 lanes, |x| <= 1/2 and |x| <= 1/4: errors 2^-25.2 and 2^-25.9.
inline constexpr std::array kFloatAsinh = {0x1.000000p+0f, -0x1.55529cp-3f, 0x1.327dcap-4f,
                                           -0x1.5ce2c8p-5f, 0x1.467084p-6f};
inline constexpr std::array kFloatAtanh = {0x1.000000p+0f, 0x1.555756p-2f, 0x1.985e7ap-3f,
                                           0x1.434174p-3f};

// x times a polynomial of x^2 up to `nearest`, farther off the given value with the sign of x.
template <FloatTag D, class Terms>
HWY_INLINE hn::Vec<D> OddFunction(D d, hn::Vec<D> x, const Terms& near_zero, double nearest,
                                  hn::Vec<D> farther_off) {
  const auto magnitude = hn::Abs(x);
  const auto product = hn::Mul(magnitude, HornerOf<0, 1>(d, hn::Mul(x, x), near_zero));
  const auto is_near = hn::Lt(magnitude, InLanes(d, nearest));
  return hn::CopySign(hn::IfThenElse(is_near, product, farther_off), x);
}

// For any x whose square is finite, infinities and NaN: ln(|x| + sqrt(x^2 + 1)). Keeps the sign of
// zero. Error 2^-48 (measured: 2^-48.7).
template <FloatTag D>
HWY_INLINE hn::Vec<D> AsinhOf(D d, hn::Vec<D> x) {
  constexpr double kNearest = DoubleTag<D> ? 0.125 : 0.5;
  const auto root = hn::Sqrt(hn::MulAdd(x, x, hn::Set(d, 1)));
  const auto farther_off = LogOf(d, hn::Add(hn::Abs(x), root));
  return OddFunction(d, x, TermsFor(d, kAsinh, kFloatAsinh), kNearest, farther_off);
}

// For any x: half of ln((1 + |x|) / (1 - |x|)), infinite for +-1, NaN beyond. Keeps the sign of
// zero. Error 2^-49 (measured: 2^-49.5).
template <FloatTag D>
HWY_INLINE hn::Vec<D> AtanhOf(D d, hn::Vec<D> x) {
  constexpr double kNearest = DoubleTag<D> ? 0.125 : 0.25;
  const auto one = hn::Set(d, 1);
  const auto magnitude = hn::Abs(x);
  const auto quotient = hn::Div(hn::Add(one, magnitude), hn::Sub(one, magnitude));
  const auto farther_off = hn::Mul(LogOf(d, quotient), InLanes(d, 0.5));
  return OddFunction(d, x, TermsFor(d, kAtanh, kFloatAtanh), kNearest, farther_off);
}

// ------------------------------------------------------------------ ACOSH

// For any x whose square is finite, infinity and NaN; +0 for 1, NaN below. With t = x - 1:
// ln(1 + t + sqrt(t (t + 2))). Error 2^-47.5 (measured: 2^-47.8).
template <FloatTag D>
HWY_INLINE hn::Vec<D> AcoshOf(D d, hn::Vec<D> x) {
  const auto t = hn::Sub(x, hn::Set(d, 1));
  // Negative wherever t is, so that its root is NaN there.
  const auto square = hn::Mul(t, hn::Abs(hn::Add(t, hn::Set(d, 2))));
  return Log1pOf(d, hn::Add(t, hn::Sqrt(square)));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_INVERSE_HYPERBOLIC_INL_H_
