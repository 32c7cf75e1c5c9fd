// Functions of FLOAT32 lanes against the C library's of long double, for every FLOAT16 number, on
// every target: their errors are as small as kernels/cpu/bodies/decided-inl.h takes them to be.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/conformance/short_functions_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/bodies/smooth_activation-inl.h"

#ifndef OPSERVE_TESTS_CONFORMANCE_SHORT_FUNCTIONS_TEST_CC_
#define OPSERVE_TESTS_CONFORMANCE_SHORT_FUNCTIONS_TEST_CC_

namespace opserve::testing {

// A function that FLOAT32 lanes serve, with its parameters.
enum class ShortFunction {
  kExp,
  kLog,
  kSin,
  kCos,
  kTan,
  kTanh,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kGelu,
  kElu,
  kCelu,
  kScaledTanh,
  kSoftplus,
  kParametricSoftplus,
  kSwish,
};
struct ShortCase {
  ShortFunction function;
  double a = 0;
  double b = 0;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_SHORT_FUNCTIONS_TEST_CC_

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <class F>
void RunInFloats(const F& function, const float* x, float* y, size_t count) {
  if constexpr (requires { function.ServesFloats(); }) {
    if (!function.ServesFloats()) HWY_ABORT("FLOAT32 lanes do not serve these parameters");
  }
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += MaxLanes(d)) {
    hn::StoreU(function.Fast(d, hn::LoadU(d, x + i)), d, y + i);
  }
}

// y[i] for `count` elements, a multiple of 16.
void RunShort(const testing::ShortCase& c, const float* x, float* y, size_t count) {
  using enum testing::ShortFunction;
  switch (c.function) {
    case kExp:
      return RunInFloats(ExpFunction(), x, y, count);
    case kLog:
      return RunInFloats(LogFunction(), x, y, count);
    case kSin:
      return RunInFloats(SinFunction(), x, y, count);
    case kCos:
      return RunInFloats(CosFunction(), x, y, count);
    case kTan:
      return RunInFloats(TanFunction(), x, y, count);
    case kTanh:
      return RunInFloats(TanhFunction(), x, y, count);
    case kAsin:
      return RunInFloats(AsinFunction(), x, y, count);
    case kAcos:
      return RunInFloats(AcosFunction(), x, y, count);
    case kAtan:
      return RunInFloats(AtanFunction(), x, y, count);
    case kSinh:
      return RunInFloats(SinhFunction(), x, y, count);
    case kCosh:
      return RunInFloats(CoshFunction(), x, y, count);
    case kAsinh:
      return RunInFloats(AsinhFunction(), x, y, count);
    case kAcosh:
      return RunInFloats(AcoshFunction(), x, y, count);
    case kAtanh:
      return RunInFloats(AtanhFunction(), x, y, count);
    case kErf:
      return RunInFloats(ErfFunction(), x, y, count);
    case kSigmoid:
      return RunInFloats(SigmoidFunction(), x, y, count);
    case kGelu:
      return RunInFloats(GeluFunction(), x, y, count);
    case kElu:
      return RunInFloats(EluFunction{c.b, c.a * c.b}, x, y, count);
    case kCelu:
      return RunInFloats(CeluFunction{c.a}, x, y, count);
    case kScaledTanh:
      return RunInFloats(ScaledTanhFunction{c.a, c.b}, x, y, count);
    case kSoftplus:
      return RunInFloats(SoftplusFunction{c.a}, x, y, count);
    case kParametricSoftplus:
      return RunInFloats(ParametricSoftplusFunction{c.a, c.b}, x, y, count);
    case kSwish:
      return RunInFloats(SwishFunction{c.a}, x, y, count);
  }
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "kernels/reference_ops.h"
#include "tests/conformance/targets.h"

namespace opserve::cpu {
HWY_EXPORT(RunShort);
void RunOnTarget(const testing::ShortCase& c, const std::vector<float>& x, std::vector<float>& y) {
  HWY_DYNAMIC_DISPATCH(RunShort)(c, x.data(), y.data(), x.size());
}
}  // namespace opserve::cpu

namespace opserve::testing {

// For messages of tests.
void PrintTo(const ShortCase& c, std::ostream* out) {
  *out << "function " << static_cast<int>(c.function) << ", " << c.a << " and " << c.b;
}

namespace {

using reference::Float16;
using reference::ToFloat;
using reference::ToHalf;

long double SoftplusOf(long double x) {
  return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}

long double ExactOf(const ShortCase& c, long double x) {
  using enum ShortFunction;
  switch (c.function) {
    case kExp:
      return std::exp(x);
    case kLog:
      return std::log(x);
    case kSin:
      return std::sin(x);
    case kCos:
      return std::cos(x);
    case kTan:
      return std::tan(x);
    case kTanh:
      return std::tanh(x);
    case kAsin:
      return std::asin(x);
    case kAcos:
      return std::acos(x);
    case kAtan:
      return std::atan(x);
    case kSinh:
      return std::sinh(x);
    case kCosh:
      return std::cosh(x);
    case kAsinh:
      return std::asinh(x);
    case kAcosh:
      return std::acosh(x);
    case kAtanh:
      return std::atanh(x);
    case kErf:
      return std::erf(x);
    case kSigmoid:
      return 1 / (1 + std::exp(-x));
    case kGelu:
      return x * 0.5L * std::erfc(-x * std::sqrt(0.5L));
    case kElu:
      return c.b * (x >= 0 ? x : c.a * std::expm1(x));
    case kCelu:
      return x >= 0 ? x : c.a * std::expm1(x / c.a);
    case kScaledTanh:
      return c.a * std::tanh(c.b * x);
    case kSoftplus:
      return SoftplusOf(c.a * x) / c.a;
    case kParametricSoftplus:
      return c.a * SoftplusOf(c.b * x);
    case kSwish:
      return x / (1 + std::exp(-c.a * x));
  }
  return 0;
}

// Whether kernels may take `result` for `exact`: its error is below kShortError less the rounding
// of a product, or both are far enough from the middles between two FLOAT16 elements.
bool IsNear(float result, long double exact) {
  if (std::fabs(result - exact) <= std::fabs(exact) * (0x1p-21L - 0x1p-24L)) return true;
  const uint16_t element = ToHalf(static_cast<double>(exact)).bits;
  return ToHalf(result * (1 - 0x1p-20)).bits == element &&
         ToHalf(result * (1 + 0x1p-20)).bits == element;
}

class ShortFunctionsTest : public ::testing::TestWithParam<ShortCase> {};

// What comes of infinities and NaNs is told by other tests.
TEST_P(ShortFunctionsTest, ErrorsAreBoundedForEveryFiniteFloat16) {
  std::vector<float> x;
  std::vector<long double> exact;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    x.push_back(ToFloat(Float16{static_cast<uint16_t>(bits)}));
    exact.push_back(ExactOf(GetParam(), x.back()));
  }
  std::vector<float> y(x.size());
  for (const int64_t target : RunnableTargets()) {
    const ScopedTarget scoped(target);
    cpu::RunOnTarget(GetParam(), x, y);
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || (std::isnan(exact[i]) && std::isnan(y[i]))) continue;
      if (IsNear(y[i], exact[i]) || ++wrong > 5) continue;
      ADD_FAILURE() << TargetName(target) << std::hexfloat << ": " << x[i] << " gives " << y[i]
                    << ", exactly " << exact[i];
    }
  }
}

constexpr ShortCase kCases[] = {
    {ShortFunction::kExp},
    {ShortFunction::kLog},
    {ShortFunction::kSin},
    {ShortFunction::kCos},
    {ShortFunction::kTan},
    {ShortFunction::kTanh},
    {ShortFunction::kAsin},
    {ShortFunction::kAcos},
    {ShortFunction::kAtan},
    {ShortFunction::kSinh},
    {ShortFunction::kCosh},
    {ShortFunction::kAsinh},
    {ShortFunction::kAcosh},
    {ShortFunction::kAtanh},
    {ShortFunction::kErf},
    {ShortFunction::kSigmoid},
    {ShortFunction::kGelu},
    {ShortFunction::kElu, 1, 1},
    {ShortFunction::kElu, 0x1.ac5af0p0f, 0x1.0cfabep0f},
    {ShortFunction::kElu, 3e9f, -1e-10f},
    {ShortFunction::kCelu, 0.3f},
    {ShortFunction::kCelu, 0x1p-60f},
    {ShortFunction::kCelu, 0x1p60f},
    {ShortFunction::kScaledTanh, 1.7159f, 0.6666667f},
    {ShortFunction::kScaledTanh, -1e30f, 1e-9f},
    {ShortFunction::kScaledTanh, 1e-3f, -1e18f},
    {ShortFunction::kSoftplus, 1},
    {ShortFunction::kSoftplus, 1.5f},
    {ShortFunction::kSoftplus, 4097},
    {ShortFunction::kParametricSoftplus, 0.1f, -1.25f},
    {ShortFunction::kParametricSoftplus, 1e6f, 1},
    {ShortFunction::kSwish, 1},
    {ShortFunction::kSwish, 0x1.b3cp0f},
    {ShortFunction::kSwish, -0x1p-10f},
};
INSTANTIATE_TEST_SUITE_P(All, ShortFunctionsTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace opserve::testing

#endif  // HWY_ONCE
