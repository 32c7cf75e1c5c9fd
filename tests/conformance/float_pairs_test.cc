// Functions in pairs of FLOAT32 lanes against the C library's of long double, on every target that
// has them: their errors are as small as they say, their limits are reached where they say so, and
// few usual numbers are left to FLOAT64 lanes.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/conformance/float_pairs_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/bodies/smooth_activation-inl.h"

#ifndef OPSERVE_TESTS_CONFORMANCE_FLOAT_PAIRS_TEST_CC_
#define OPSERVE_TESTS_CONFORMANCE_FLOAT_PAIRS_TEST_CC_

#include <limits>

namespace opserve::testing {

// A function that pairs of FLOAT32 lanes serve.
enum class PairFunction { kAtan, kErf, kExp, kLog, kSigmoid, kSwish, kTanh };

// One of the scales that pairs serve.
inline constexpr float kSwishScale = -0.5f;

// What is computed of one number: high + low within an error, or a limit; NaN where neither is
// known.
struct PairOutcome {
  float high = std::numeric_limits<float>::quiet_NaN();
  float low = std::numeric_limits<float>::quiet_NaN();
  float error = std::numeric_limits<float>::quiet_NaN();
  float limit = std::numeric_limits<float>::quiet_NaN();
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_FLOAT_PAIRS_TEST_CC_

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

#if OPSERVE_HAVE_FLOAT_PAIRS
template <class F>
void FillOutcomes(const F& function, const float* x, testing::PairOutcome* y, size_t count) {
  const hn::ScalableTag<float> d;
  constexpr size_t kLanes = MaxLanes(d);
  const auto none = hn::NaN(d);
  HWY_ALIGN float parts[4][kLanes];
  for (size_t i = 0; i < count; i += kLanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto result = function.InPairs(d, v);
    hn::Store(hn::IfThenElse(result.is_known, result.sum.high, none), d, parts[0]);
    hn::Store(hn::IfThenElse(result.is_known, result.sum.low, none), d, parts[1]);
    hn::Store(hn::IfThenElse(result.is_known, result.error, none), d, parts[2]);
    hn::Store(none, d, parts[3]);
    if constexpr (requires { function.Limits(d, v); }) {
      const auto limits = function.Limits(d, v);
      hn::Store(hn::IfThenElse(limits.are_reached, limits.values, none), d, parts[3]);
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      y[i + lane] = {parts[0][lane], parts[1][lane], parts[2][lane], parts[3][lane]};
    }
  }
}
#endif

// y[i] for `count` elements, a multiple of 16; false where the target has no pairs.
bool FillOutcomesOf([[maybe_unused]] testing::PairFunction function,
                    [[maybe_unused]] const float* x, [[maybe_unused]] testing::PairOutcome* y,
                    [[maybe_unused]] size_t count) {
#if OPSERVE_HAVE_FLOAT_PAIRS
  using enum testing::PairFunction;
  switch (function) {
    case kAtan:
      FillOutcomes(AtanFunction(), x, y, count);
      break;
    case kErf:
      FillOutcomes(ErfFunction(), x, y, count);
      break;
    case kExp:
      FillOutcomes(ExpFunction(), x, y, count);
      break;
    case kLog:
      FillOutcomes(LogFunction(), x, y, count);
      break;
    case kSigmoid:
      FillOutcomes(SigmoidFunction(), x, y, count);
      break;
    case kSwish:
      FillOutcomes(SwishFunction{testing::kSwishScale}, x, y, count);
      break;
    case kTanh:
      FillOutcomes(TanhFunction(), x, y, count);
      break;
  }
  return true;
#else
  return false;
#endif
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "tests/conformance/targets.h"

namespace opserve::cpu {
HWY_EXPORT(FillOutcomesOf);
bool FillOutcomesOnTarget(testing::PairFunction function, const std::vector<float>& x,
                          std::vector<testing::PairOutcome>& y) {
  return HWY_DYNAMIC_DISPATCH(FillOutcomesOf)(function, x.data(), y.data(), x.size());
}
}  // namespace opserve::cpu

namespace opserve::testing {

// For messages of tests.
void PrintTo(PairFunction function, std::ostream* out) {
  constexpr const char* kNames[] = {"Atan", "Erf", "Exp", "Log", "Sigmoid", "Swish", "Tanh"};
  *out << kNames[static_cast<int>(function)];
}

namespace {

long double ExactOf(PairFunction function, long double x) {
  using enum PairFunction;
  switch (function) {
    case kAtan:
      return std::atan(x);
    case kErf:
      return std::erf(x);
    case kExp:
      return std::exp(x);
    case kLog:
      return std::log(x);
    case kSigmoid:
      return 1 / (1 + std::exp(-x));
    case kSwish:
      return x / (1 + std::exp(-kSwishScale * x));
    case kTanh:
      return std::tanh(x);
  }
  return 0;
}

// Numbers of every exponent, both signs, and many from the range in which the functions curve.
std::vector<float> Numbers() {
  std::vector<float> numbers;
  constexpr uint32_t kStride = 16'381;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStride) {
    numbers.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (int i = -120'000; i <= 120'000; ++i) numbers.push_back(static_cast<float>(i) * 0.001f);
  while (numbers.size() % 16 != 0) numbers.push_back(0);
  return numbers;
}

class FloatPairsTest : public ::testing::TestWithParam<PairFunction> {};

TEST_P(FloatPairsTest, ResultsAreWithinTheirErrorsAndLimitsAreReached) {
  const std::vector<float> x = Numbers();
  std::vector<PairOutcome> y(x.size());
  for (const int64_t target : RunnableTargets()) {
    const ScopedTarget scoped(target);
    if (!cpu::FillOutcomesOnTarget(GetParam(), x, y)) continue;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = ExactOf(GetParam(), x[i]);
      if (!std::isnan(y[i].high)) {
        const long double sum = static_cast<long double>(y[i].high) + y[i].low;
        ASSERT_LE(std::fabs(sum - exact), y[i].error)
            << TargetName(target) << std::hexfloat << ": " << x[i] << " gives " << y[i].high
            << " and " << y[i].low << ", exactly " << exact;
      }
      if (!std::isnan(y[i].limit)) {
        ASSERT_EQ(y[i].limit, static_cast<float>(exact))
            << TargetName(target) << std::hexfloat << ": " << x[i];
      }
    }
  }
}

// So that vectors rarely need FLOAT64 lanes, which take twice as long.
TEST_P(FloatPairsTest, NearlyAllUsualNumbersAreDecided) {
  std::vector<float> x;
  for (int i = -40'000; i < 40'000; ++i) x.push_back((static_cast<float>(i) + 0.3f) * 0.0003f);
  std::vector<PairOutcome> y(x.size());
  for (const int64_t target : RunnableTargets()) {
    const ScopedTarget scoped(target);
    if (!cpu::FillOutcomesOnTarget(GetParam(), x, y)) continue;
    size_t open = 0;
    for (const PairOutcome& each : y) {
      const bool is_decided =
          each.high + (each.low - each.error) == each.high + (each.low + each.error);
      open += !is_decided && std::isnan(each.limit);
    }
    // LOG has no results of negative numbers.
    EXPECT_LE(open, x.size() / 256 + (GetParam() == PairFunction::kLog ? x.size() / 2 : 0))
        << TargetName(target);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatPairsTest,
                         ::testing::Values(PairFunction::kAtan, PairFunction::kErf,
                                           PairFunction::kExp, PairFunction::kLog,
                                           PairFunction::kSigmoid, PairFunction::kSwish,
                                           PairFunction::kTanh),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace opserve::testing

#endif  // HWY_ONCE
