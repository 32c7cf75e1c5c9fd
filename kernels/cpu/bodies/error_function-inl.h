// The error function in FLOAT64 lanes, of exactly widened FLOAT32 numbers. Included once per
// target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ERROR_FUNCTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ERROR_FUNCTION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ERROR_FUNCTION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ERROR_FUNCTION_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// erf(x) / x in powers of u = x^2 / 8 - 1, for |x| up to 4: within 2^-52.3 of it. The quotient
// falls with x^2 as an exponential function does, so that the terms, whose magnitudes add up to
// what it is at 0, hardly cancel.
inline constexpr std::array<double, 27> kErrorFunctionTerms = {
    0x1.6a040781a499cp-2,  -0x1.69a0ccda3df6fp-3,  0x1.0dabaf0613d85p-3,  -0x1.b92e95c1910e1p-4,
    0x1.717efc7849dbep-4,  -0x1.3215d8b79ba4bp-4,  0x1.ea97f14a8d0e1p-5,  -0x1.76e86490626b7p-5,
    0x1.0ed52c0b36fa2p-5,  -0x1.7034fa92c23f0p-6,  0x1.d6352881482d4p-7,  -0x1.1a0233487cbbdp-7,
    0x1.3e151909f6c09p-8,  -0x1.51ef11469a9b9p-9,  0x1.52d96df103062p-10, -0x1.41597ab88d5f2p-11,
    0x1.20ef76f6a7b1cp-12, -0x1.edf232686e821p-14, 0x1.914cb2b97f1cfp-15, -0x1.3514a2e85314dp-16,
    0x1.cc4825d6c5b37p-18, -0x1.55a3162ea5253p-19, 0x1.c60688ed424cep-21, -0x1.c502f61e66df4p-23,
    0x1.3b13949c4416ap-24, -0x1.7ca51df38057ep-25, 0x1.9604b28d9b7e9p-27};

// The 16th root of 1 - erf(x) in powers of x - 5, for x of 4 to 6: its power is within 2^-53 of
// 1 - erf(x), absolutely.
inline constexpr std::array<double, 6> kRestRootTerms = {
    0x1.761d31f7117d0p-3,   -0x1.dcaec386d4288p-4,  0x1.a717817ec8610p-6,
    -0x1.ae1505d3abb00p-11, -0x1.80741da06dd01p-11, 0x1.faf3bf657718dp-15};

// erf(x) for magnitudes from 4 on. Beyond 6 no double lies between it and 1.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> LargeErrorFunction(D d, hn::Vec<D> magnitude) {
  const auto limited = hn::Min(magnitude, hn::Set(d, 6));
  auto power = PolynomialOf(d, hn::Sub(limited, hn::Set(d, 5)), kRestRootTerms);
  for (int i = 0; i < 4; ++i) power = hn::Mul(power, power);
  return hn::Sub(hn::Set(d, 1), power);
}

// erf(x) within 2^-49 of it (measured: 2^-50, on 6 million numbers on every target); a zero keeps
// its sign, infinities give +-1.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> ErfOf(D d, hn::Vec<D> x) {
  const auto scaled = hn::Mul(hn::Mul(x, x), hn::Set(d, 0.125));
  const auto u = hn::Sub(scaled, hn::Set(d, 1));
  const auto result = hn::Mul(x, PolynomialOf(d, u, kErrorFunctionTerms));
  const auto magnitude = hn::Abs(x);
  const auto is_large = hn::Gt(magnitude, hn::Set(d, 4));
  if (HWY_LIKELY(hn::AllFalse(d, is_large))) return result;
  return hn::IfThenElse(is_large, hn::CopySign(LargeErrorFunction(d, magnitude), x), result);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ERROR_FUNCTION_INL_H_
