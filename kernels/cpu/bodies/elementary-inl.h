// Elementary functions of elements, rounded once. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ELEMENTARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ELEMENTARY_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ELEMENTARY_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ELEMENTARY_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/decided-inl.h"
#include "kernels/cpu/bodies/error_function-inl.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/hyperbolic-inl.h"
#include "kernels/cpu/bodies/integer_power-inl.h"
#include "kernels/cpu/bodies/inverse_hyperbolic-inl.h"
#include "kernels/cpu/bodies/inverse_trigonometric-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/power-inl.h"
#include "kernels/cpu/bodies/short_functions-inl.h"
#include "kernels/cpu/bodies/trigonometric-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

OPSERVE_DECIDED_FUNCTION(Arccos, Acos)
OPSERVE_DECIDED_FUNCTION(Arcosh, Acosh)
OPSERVE_DECIDED_FUNCTION(Arcsin, Asin)
OPSERVE_DECIDED_FUNCTION(Arsinh, Asinh)
OPSERVE_DECIDED_FUNCTION(Arctan, Atan)
OPSERVE_DECIDED_FUNCTION(Artanh, Atanh)
OPSERVE_DECIDED_FUNCTION(Cos, Cos)
OPSERVE_DECIDED_FUNCTION(Cosh, Cosh)
OPSERVE_DECIDED_FUNCTION(Erf, Erf)
OPSERVE_DECIDED_FUNCTION(Exp, Exp)
OPSERVE_DECIDED_FUNCTION(Log, Log)
OPSERVE_DECIDED_FUNCTION(Sin, Sin)
OPSERVE_DECIDED_FUNCTION(Sinh, Sinh)
OPSERVE_DECIDED_FUNCTION(Tan, Tan)
OPSERVE_DECIDED_FUNCTION(Tanh, Tanh)

// No number of FLOAT32 is so near to a zero of these that its result is denormal.
template <>
inline constexpr NarrowedKind kResultsOf<AcosFunction> = NarrowedKind::kNormal;
template <>
inline constexpr NarrowedKind kResultsOf<AcoshFunction> = NarrowedKind::kNormal;
template <>
inline constexpr NarrowedKind kResultsOf<CosFunction> = NarrowedKind::kNormal;
template <>
inline constexpr NarrowedKind kResultsOf<CoshFunction> = NarrowedKind::kNormal;
template <>
inline constexpr NarrowedKind kResultsOf<LogFunction> = NarrowedKind::kNormal;
template <>
inline constexpr NarrowedKind kResultsOf<ExpFunction> = NarrowedKind::kMagnitude;

// ------------------------------------------------------------------ ATAN_YX

struct AtanYxFunction {
  static constexpr int kErrorBits = 46;
  std::array<double, 2> parameters() const { return {}; }
  template <DoubleTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> y, hn::Vec<D> x) const {
    return AtanYxOf(d, y, x);
  }
  slow::DoubleDouble Slow(double y, double x) const { return slow::AtanYx(y, x); }
};

template <FloatOrHalfInDoubleTag D>
HWY_INLINE Value<D> ArctanYx(D d, Value<D> y, Value<D> x) {
  return Decided(d, AtanYxFunction(), y, x);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ELEMENTARY_INL_H_
