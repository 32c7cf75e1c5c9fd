// Activations made of elementary functions, rounded once. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SMOOTH_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SMOOTH_ACTIVATION_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SMOOTH_ACTIVATION_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SMOOTH_ACTIVATION_INL_H_
#endif

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/elementary-inl.h"
#include "kernels/cpu/bodies/normal_distribution-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

OPSERVE_DECIDED_FUNCTION(Gelu, Gelu)
OPSERVE_DECIDED_FUNCTION(Sigmoid, Sigmoid)

template <>
inline constexpr NarrowedKind kResultsOf<SigmoidFunction> = NarrowedKind::kMagnitude;

// ------------------------------------------------------------------ Limits that are approached

// Where a function is next to its limit, which may be a middle between two elements, a power of e
// tells on which side. Beyond this argument nothing else of the power can be seen.
inline constexpr double kNextToLimit = 60;

// Nearer to zero than the limit, or farther from it, by less than any double shows.
inline slow::DoubleDouble JustWithin(double limit) { return {limit, -limit * 0x1p-90}; }
inline slow::DoubleDouble JustBeyond(double limit) { return {limit, limit * 0x1p-90}; }

// ------------------------------------------------------------------ Parameters in FLOAT32 lanes

// Whether products of FLOAT16 numbers and a FLOAT32 neither leave the range of FLOAT32 nor come
// near its end.
inline bool KeepsRange(double factor) {
  return std::abs(factor) >= 0x1p-60 && std::abs(factor) <= 0x1p60;
}

// Whether they are exact, too: 11 digits by 13.
inline bool IsExactFactor(double factor) {
  constexpr uint32_t kDropped = (1u << 11) - 1;
  return KeepsRange(factor) &&
         (std::bit_cast<uint32_t>(static_cast<float>(factor)) & kDropped) == 0;
}

// ------------------------------------------------------------------ ELU, SCALED_ELU, CELU

// gamma * (x >= 0 ? x : alpha * (e^x - 1)), where factor is gamma * alpha.
struct EluFunction {
  static constexpr int kErrorBits = 46;
  double gamma;
  double factor;
  std::array<double, 2> parameters() const { return {gamma, factor}; }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto below = hn::Mul(Expm1Of(d, x), InLanes(d, factor));
    return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Mul(x, InLanes(d, gamma)), below);
  }
  // Products, where the lanes have room for all their digits.
  template <FloatTag D>
  HWY_INLINE hn::Mask<D> IsExact(D d, hn::Vec<D> x) const {
    constexpr bool kHasRoom = sizeof(hn::TFromD<D>) == sizeof(double);
    const auto none = hn::Inf(d);
    return hn::Ge(x, kHasRoom || IsExactFactor(gamma) ? hn::Zero(d) : none);
  }
  slow::DoubleDouble Slow(double x) const {
    if (x >= 0) return {gamma * x, 0};
    if (std::isinf(x)) return {-factor, 0};
    return x < -kNextToLimit ? JustWithin(-factor) : slow::Expm1(x) * factor;
  }
};

template <FunctionTag D>
HWY_INLINE Value<D> Elu(D d, Value<D> x, float alpha, float gamma) {
  return Decided(d, EluFunction{gamma, double{gamma} * double{alpha}}, x);
}

// max(0, x) + min(0, alpha * (e^(x / alpha) - 1)), where the second term is zero for an alpha of
// zero or infinity, or NaN.
struct CeluFunction {
  // The quotient's error counts once per unit of its magnitude.
  static constexpr int kErrorBits = 43;
  double alpha;
  std::array<double, 2> parameters() const { return {alpha}; }
  bool HasPower() const { return alpha != 0 && std::isfinite(alpha); }
  // The quotient's error counts only for powers above one.
  bool ServesFloats() const { return !HasPower() || (alpha > 0 && KeepsRange(alpha)); }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto zero = hn::Zero(d);
    const auto positive = hn::IfThenElseZero(hn::Gt(x, zero), x);
    if (!HasPower()) return positive;
    const auto by = InLanes(d, alpha);
    const auto below = hn::Mul(Expm1Of(d, hn::Div(x, by)), by);
    return hn::IfThenElse(hn::Lt(x, zero), below, positive);
  }
  slow::DoubleDouble Slow(double x) const {
    if (x >= 0) return {x, 0};
    if (std::isinf(x)) return {-alpha, 0};
    const slow::DoubleDouble argument = slow::DoubleDouble(x) / alpha;
    return argument.high < -kNextToLimit ? JustWithin(-alpha) : slow::Expm1(argument) * alpha;
  }
};

template <FunctionTag D>
HWY_INLINE Value<D> Celu(D d, Value<D> x, float alpha) {
  return Decided(d, CeluFunction{alpha}, x);
}

// ------------------------------------------------------------------ SCALED_TANH

// alpha * tanh(beta * x)
struct ScaledTanhFunction {
  static constexpr int kErrorBits = 45;
  double alpha;
  double beta;
  std::array<double, 2> parameters() const { return {alpha, beta}; }
  bool ServesFloats() const { return KeepsRange(beta); }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto product = hn::Mul(x, InLanes(d, beta));
    return hn::Mul(TanhOf(d, product), InLanes(d, alpha));
  }
  slow::DoubleDouble Slow(double x) const {
    const double product = beta * x;
    const double limit = product < 0 ? -alpha : alpha;
    if (std::isinf(product)) return {limit, 0};
    return std::abs(product) > kNextToLimit ? JustWithin(limit) : slow::Tanh(product) * alpha;
  }
};

template <FunctionTag D>
HWY_INLINE Value<D> ScaledTanh(D d, Value<D> x, float alpha, float beta) {
  return Decided(d, ScaledTanhFunction{alpha, beta}, x);
}

// ------------------------------------------------------------------ SOFTPLUS, PARAMETRIC_SOFTPLUS

// ln(1 + e^(steepness * x)) / steepness
struct SoftplusFunction {
  static constexpr int kErrorBits = 45;
  double steepness;
  std::array<double, 2> parameters() const { return {steepness}; }
  // With smaller ones FLOAT16 would show powers that are limited there.
  bool ServesFloats() const { return IsExactFactor(steepness) && std::abs(steepness) >= 0x1p-20; }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto by = InLanes(d, steepness);
    return hn::Div(SoftplusOf(d, hn::Mul(x, by)), by);
  }
  slow::DoubleDouble Slow(double x) const { return slow::Softplus(steepness * x) / steepness; }
};

template <FunctionTag D>
HWY_INLINE Value<D> Softplus(D d, Value<D> x, float steepness) {
  return Decided(d, SoftplusFunction{steepness}, x);
}

// alpha * ln(1 + e^(beta * x))
struct ParametricSoftplusFunction {
  static constexpr int kErrorBits = 45;
  double alpha;
  double beta;
  std::array<double, 2> parameters() const { return {alpha, beta}; }
  // With larger factors FLOAT16 would show powers that are limited there.
  bool ServesFloats() const { return IsExactFactor(beta) && std::abs(alpha) <= 0x1p20; }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto product = hn::Mul(x, InLanes(d, beta));
    auto softplus = SoftplusOf(d, product);
    if (std::isinf(alpha)) {
      // No finite product has a logarithm of zero, as small as it may be.
      const auto has_power = hn::Gt(product, hn::Neg(hn::Inf(d)));
      softplus = hn::IfThenElse(has_power, hn::Set(d, 1), softplus);
    }
    return hn::Mul(softplus, InLanes(d, alpha));
  }
  // Far above zero, alpha * beta * x and a power of e, of which both parts can be seen.
  slow::DoubleDouble Slow(double x) const {
    const double product = beta * x;
    if (product <= kNextToLimit) return slow::Softplus(product) * alpha;
    const slow::DoubleDouble limit = slow::ExactProduct(alpha, product);
    return limit.low != 0 || std::isinf(x) ? limit : JustBeyond(limit.high);
  }
};

template <FunctionTag D>
HWY_INLINE Value<D> ParametricSoftplus(D d, Value<D> x, float alpha, float beta) {
  return Decided(d, ParametricSoftplusFunction{alpha, beta}, x);
}

// ------------------------------------------------------------------ SWISH

// x / (1 + e^(-scale * x)), at infinity its limit.
struct SwishFunction {
  static constexpr int kErrorBits = 45;
  double scale;
  std::array<double, 2> parameters() const { return {scale}; }
  bool ServesFloats() const { return IsExactFactor(scale); }

  template <FloatTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto product = hn::Mul(x, InLanes(d, scale));
    const auto result = hn::Mul(SigmoidOf(d, product), x);
    if (scale == 0 || !std::isfinite(scale)) return result;
    const auto limit =
        hn::IfThenElse(hn::Gt(product, hn::Zero(d)), x, hn::CopySign(hn::Zero(d), x));
    return hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Inf(d)), limit, result);
  }
  // Where the product with the scale is exact.
  bool ServesPairs() const {
    int exponent = 0;
    return KeepsRange(scale) && std::frexp(std::abs(scale), &exponent) == 0.5;
  }
  template <FullFloatTag D>
  HWY_INLINE auto InPairs(D d, hn::Vec<D> x) const -> decltype(SigmoidInPairs(d, x)) {
    return SwishInPairs(d, x, hn::Mul(x, InLanes(d, scale)));
  }
  template <FullFloatTag D>
  HWY_INLINE auto Limits(D d, hn::Vec<D> x) const -> decltype(SigmoidLimits(d, x)) {
    return SwishLimits(d, x, hn::Mul(x, InLanes(d, scale)));
  }
  slow::DoubleDouble Slow(double x) const { return scale == 0 ? x / 2 : slow::Swish(x, scale); }
};

template <class D>
requires FunctionTag<D> || DecidableInPairs<SwishFunction, D> HWY_INLINE Value<D> Swish(
    D d, Value<D> x, float scale) {
  return Decided(d, SwishFunction{scale}, x);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SMOOTH_ACTIVATION_INL_H_
