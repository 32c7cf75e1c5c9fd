// Holds the elementary functions to MPFR.

#include "kernels/cpu/slow/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/kernels/cpu/slow/real.h"

namespace opserve::cpu::slow {
namespace {

constexpr int kRandomInputs = 500;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ------------------------------------------------------------------ Checks of one result

// As the header promises it, or empty.
std::string Fault(const DoubleDouble& result, const Real& exact) {
  const double magnitude = std::abs(result.high);
  const int exponent = exact.Exponent();
  if (!(magnitude < 0x1p1000)) return "not finite";
  if (result.high + result.low != result.high) return "low part too large";
  if (exponent < -160) return magnitude <= 0x1p-155 ? "" : "not small";
  if (exponent >= 130) return magnitude >= 0x1p129 ? "" : "not large";
  const int error = RelativeErrorExponent(result, exact);
  return error <= -88 ? "" : "relative error 2^" + std::to_string(error);
}

// ------------------------------------------------------------------ Inputs

// Bits of any kind, numbers of everyday, numbers near 1, near powers of two, and special ones; all
// with both signs. Zeros are left out.
std::vector<float> Inputs(double least, double greatest) {
  std::mt19937_64 engine{3};
  std::uniform_int_distribution<uint32_t> bits;
  std::uniform_real_distribution<float> everyday(-130, 130);
  std::uniform_int_distribution<int> exponent(-30, 7);
  std::uniform_int_distribution<int> near_one(-0x10000, 0x10000);
  std::vector<float> inputs = {0x1p-149f, 0x3p-149f, 0x1p-126f, 0x1.fffffep127f, 0x1.6ac5b2p112f,
                               0x3p-23f, 0.5f, 0.35f, 0.3600001f, 0.172f, 0.1720001f, 0.785f, 0.25f,
                               1.0f, 1.5707964f, 3.1415927f, 600.0f, 10.0f, 17.0f, 1e30f,
                               // The nearest to a multiple of pi/2.
                               16367173 * 0x1p72f};
  for (int i = 0; i < kRandomInputs; ++i) {
    inputs.push_back(std::bit_cast<float>(bits(engine)));
    inputs.push_back(everyday(engine));
    inputs.push_back(std::ldexp(everyday(engine) / 130, exponent(engine)));
    inputs.push_back(std::bit_cast<float>(std::bit_cast<int32_t>(1.0f) + near_one(engine)));
    inputs.push_back(std::nextafter(std::ldexp(1.0f, i % 276 - 149), i % 2 == 0 ? 0.0f : 1e38f));
  }
  const size_t count = inputs.size();
  for (size_t i = 0; i < count; ++i) inputs.push_back(-inputs[i]);
  std::erase_if(inputs, [&](float x) {
    return !std::isfinite(x) || x == 0 || !(x >= least && x <= greatest);
  });
  return inputs;
}

// ------------------------------------------------------------------ Functions of one argument

struct Unary {
  std::string name;
  std::function<DoubleDouble(DoubleDouble)> function;
  // Turns the argument into the result.
  std::function<void(mpfr_ptr)> reference;
  double least = -kInfinity;
  double greatest = kInfinity;
  // Whether it takes sums of two doubles.
  bool takes_sums = false;
};

// A function that takes floats alone.
std::function<DoubleDouble(DoubleDouble)> OfFloats(DoubleDouble (*function)(double)) {
  return [function](const DoubleDouble& x) { return function(x.high); };
}

std::function<void(mpfr_ptr)> Mpfr(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
  return [function](mpfr_ptr x) { function(x, x, MPFR_RNDN); };
}

void ReferenceSigmoid(mpfr_ptr x) {
  mpfr_neg(x, x, MPFR_RNDN);
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_add_ui(x, x, 1, MPFR_RNDN);
  mpfr_ui_div(x, 1, x, MPFR_RNDN);
}

void ReferenceSoftplus(mpfr_ptr x) {
  // e^x would leave MPFR's range.
  if (mpfr_cmp_ui(x, 1000000) > 0) return;
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_log1p(x, x, MPFR_RNDN);
}

void ReferenceGelu(mpfr_ptr x) {
  Real erfc;
  mpfr_sqrt_ui(erfc.get(), 2, MPFR_RNDN);
  mpfr_div(erfc.get(), x, erfc.get(), MPFR_RNDN);
  mpfr_neg(erfc.get(), erfc.get(), MPFR_RNDN);
  mpfr_erfc(erfc.get(), erfc.get(), MPFR_RNDN);
  mpfr_mul(x, x, erfc.get(), MPFR_RNDN);
  mpfr_div_2ui(x, x, 1, MPFR_RNDN);
}

const double kAboveMinusOne = -0x1.fffffep-1;
const double kBelowOne = 0x1.fffffep-1;

const std::vector<Unary>& Functions() {
  static const auto& functions = *new std::vector<Unary>{
      {"Exp", Exp, Mpfr(mpfr_exp), -kInfinity, kInfinity, true},
      {"Expm1", Expm1, Mpfr(mpfr_expm1), -kInfinity, kInfinity, true},
      {"Sinh", Sinh, Mpfr(mpfr_sinh), -kInfinity, kInfinity, true},
      {"Cosh", Cosh, Mpfr(mpfr_cosh), -kInfinity, kInfinity, true},
      {"Tanh", Tanh, Mpfr(mpfr_tanh), -kInfinity, kInfinity, true},
      {"Sigmoid", Sigmoid, ReferenceSigmoid, -kInfinity, kInfinity, true},
      {"Log", Log, Mpfr(mpfr_log), 0, kInfinity, true},
      {"Log1p", Log1p, Mpfr(mpfr_log1p), kAboveMinusOne, kInfinity, true},
      {"Softplus", Softplus, ReferenceSoftplus, -kInfinity, kInfinity, true},
      {"Asinh", OfFloats(Asinh), Mpfr(mpfr_asinh)},
      {"Acosh", OfFloats(Acosh), Mpfr(mpfr_acosh), 1, kInfinity},
      {"Atanh", OfFloats(Atanh), Mpfr(mpfr_atanh), kAboveMinusOne, kBelowOne},
      {"Sin", OfFloats(Sin), Mpfr(mpfr_sin)},
      {"Cos", OfFloats(Cos), Mpfr(mpfr_cos)},
      {"Tan", OfFloats(Tan), Mpfr(mpfr_tan)},
      {"Atan", Atan, Mpfr(mpfr_atan), -kInfinity, kInfinity, true},
      {"Asin", OfFloats(Asin), Mpfr(mpfr_asin), -1, 1},
      {"Acos", OfFloats(Acos), Mpfr(mpfr_acos), -1, 1},
      {"Erf", OfFloats(Erf), Mpfr(mpfr_erf)},
      {"Erfc", OfFloats(Erfc), Mpfr(mpfr_erfc)},
      {"Gelu", OfFloats(Gelu), ReferenceGelu},
  };
  return functions;
}

class ElementaryFunction : public testing::TestWithParam<Unary> {
 protected:
  static void Expect(const DoubleDouble& x) {
    Real exact(x);
    GetParam().reference(exact.get());
    if (mpfr_zero_p(exact.get())) return;
    const std::string fault = Fault(GetParam().function(x), exact);
    ASSERT_TRUE(fault.empty()) << fault << " at " << std::hexfloat << x.high << " + " << x.low;
  }
};

TEST_P(ElementaryFunction, IsRightForFloats) {
  for (const float x : Inputs(GetParam().least, GetParam().greatest)) {
    ASSERT_NO_FATAL_FAILURE(Expect(x));
  }
}

TEST_P(ElementaryFunction, IsRightForSums) {
  if (!GetParam().takes_sums) return;
  std::mt19937_64 engine{4};
  std::uniform_real_distribution<double> digits(-1, 1);
  for (const float x : Inputs(GetParam().least, GetParam().greatest)) {
    const double high = x * (1 - 0x1p-30 * digits(engine) * digits(engine));
    if (high <= GetParam().least) continue;
    const double low = std::ldexp(digits(engine), std::ilogb(high) - 54);
    ASSERT_NO_FATAL_FAILURE(Expect({high, low}));
  }
}

INSTANTIATE_TEST_SUITE_P(Slow, ElementaryFunction, testing::ValuesIn(Functions()),
                         [](const auto& test) { return test.param.name; });

// ------------------------------------------------------------------ Functions of two arguments

struct Binary {
  DoubleDouble (*function)(double, double);
  void (*reference)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr);
};

void ExpectRight(const Binary& binary, double x, double y) {
  const Real exact_x(x);
  const Real exact_y(y);
  Real exact;
  binary.reference(exact.get(), exact_x.get(), exact_y.get());
  const std::string fault = Fault(binary.function(x, y), exact);
  ASSERT_TRUE(fault.empty()) << fault << " at " << std::hexfloat << x << " and " << y;
}

void ExpectRightForPairs(const Binary& binary, const std::vector<float>& a,
                         const std::vector<float>& b) {
  std::mt19937_64 engine{5};
  for (int i = 0; i < 6 * kRandomInputs; ++i) {
    const double x = a[engine() % a.size()];
    const double y = b[engine() % b.size()];
    ASSERT_NO_FATAL_FAILURE(ExpectRight(binary, x, y));
  }
}

TEST(AtanYx, IsRight) {
  const std::vector<float> all = Inputs(-kInfinity, kInfinity);
  const auto reference = [](mpfr_ptr result, mpfr_srcptr y, mpfr_srcptr x) {
    mpfr_atan2(result, y, x, MPFR_RNDN);
  };
  ExpectRightForPairs({AtanYx, reference}, all, all);
}

TEST(AtanYx, TakesZerosAsC) {
  const double pi = std::acos(-1.0);
  EXPECT_EQ(AtanYx(0.0, 2).high, 0);
  EXPECT_TRUE(std::signbit(AtanYx(-0.0, 2).high));
  EXPECT_TRUE(std::signbit(AtanYx(-0.0, 0.0).high));
  EXPECT_EQ(AtanYx(0.0, -2).high, pi);
  EXPECT_EQ(AtanYx(-0.0, -0.0).high, -pi);
  EXPECT_EQ(AtanYx(2, -0.0).high, pi / 2);
  EXPECT_EQ(AtanYx(-2, 0.0).high, -pi / 2);
}

TEST(Swish, IsRight) {
  const std::vector<float> all = Inputs(-kInfinity, kInfinity);
  const auto reference = [](mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr s) {
    mpfr_mul(result, x, s, MPFR_RNDN);
    ReferenceSigmoid(result);
    mpfr_mul(result, result, x, MPFR_RNDN);
  };
  ExpectRightForPairs({Swish, reference}, all, all);
}

// mpfr_pow looks for exact powers, which takes long where the exponent is large.
void ReferencePow(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y) {
  mpfr_log(result, x, MPFR_RNDN);
  mpfr_mul(result, result, y, MPFR_RNDN);
  mpfr_exp(result, result, MPFR_RNDN);
}

TEST(Pow, IsRight) {
  const Binary pow = {Pow, ReferencePow};
  const std::vector<float> bases = Inputs(0, kInfinity);
  ExpectRightForPairs(pow, bases, Inputs(-kInfinity, kInfinity));
  // Results of all sizes, of bases near 1 too; floats and any doubles.
  std::mt19937_64 engine{6};
  std::uniform_real_distribution<double> exponent(-111, 90);
  for (const float x : bases) {
    if (x == 1) continue;
    const double y = exponent(engine) / std::log(static_cast<double>(x));
    ASSERT_NO_FATAL_FAILURE(ExpectRight(pow, x, static_cast<float>(y)));
    ASSERT_NO_FATAL_FAILURE(ExpectRight(pow, x * (1 + 0x1.23456p-40), y));
  }
}

TEST(Pow, FindsExactPowers) {
  EXPECT_EQ(Pow(3, 2), DoubleDouble(9));
  EXPECT_EQ(Pow(3, 33), DoubleDouble(5559060566555523));
  EXPECT_EQ(Pow(25, 0.5), DoubleDouble(5));
  EXPECT_EQ(Pow(81, 1.25), DoubleDouble(243));
  EXPECT_EQ(Pow(1.5, 31), DoubleDouble(617673396283947 * 0x1p-31));
  EXPECT_EQ(Pow(0x1p-149, 1), DoubleDouble(0x1p-149));
  EXPECT_EQ(Pow(0x1p-149, -0.5 / 149), Exp(-0.5 / 149 * Log(0x1p-149)));
  EXPECT_EQ(Pow(0x1p64, 0x3p-6), DoubleDouble(8));
  EXPECT_EQ(Pow(4, -1.5), DoubleDouble(0.125));
  // The middle between two floats.
  EXPECT_EQ(Pow(4097, 2), DoubleDouble(16785409));
  EXPECT_EQ(Pow(66049, 1.5), DoubleDouble(16974593));
  // The same between two of the smallest.
  EXPECT_EQ(Pow(0x3p-75, 2), DoubleDouble(0x9p-150));
  EXPECT_EQ(Pow(2, -150), DoubleDouble(0x1p-150));
  // Integers wider than a float.
  EXPECT_EQ(Pow(4294836225, 0.5), DoubleDouble(65535));
  EXPECT_EQ(Pow(4294967295, 1), DoubleDouble(4294967295));
  EXPECT_EQ(Pow(1, 1e30), DoubleDouble(1));
  EXPECT_EQ(Pow(7, 0), DoubleDouble(1));
}

// ------------------------------------------------------------------ Special arguments

TEST(SlowFunctions, KeepZeros) {
  for (const double zero : {0.0, -0.0}) {
    for (const DoubleDouble& result :
         {Expm1(zero), Sinh(zero), Tanh(zero), Swish(zero, 2), Log1p(zero), Asinh(zero),
          Atanh(zero), Sin(zero), Tan(zero), Atan(zero), Asin(zero), Erf(zero), Gelu(zero)}) {
      EXPECT_EQ(result, DoubleDouble(0));
      EXPECT_EQ(IsNegative(result), std::signbit(zero));
    }
    for (const DoubleDouble& result : {Exp(zero), Cosh(zero), Cos(zero), Erfc(zero)}) {
      EXPECT_EQ(result, DoubleDouble(1));
    }
    EXPECT_EQ(Sigmoid(zero), DoubleDouble(0.5));
  }
  EXPECT_EQ(Log(1), DoubleDouble(0));
  EXPECT_EQ(Acosh(1), DoubleDouble(0));
  EXPECT_EQ(Acos(1), DoubleDouble(0));
}

// Results beside their argument, or half of it: the sign of the rest decides.
TEST(SlowFunctions, TellOnWhichSideOfTheArgumentTheyAre) {
  const double least = 0x1p-149;
  for (const double x : {least, -least, 3 * least, -0x1p-100, 0x1p-70, -0x1p-60}) {
    const auto outwards = [x](const DoubleDouble& result) {
      EXPECT_EQ(result.high, x);
      return result.low == 0 ? 0 : (result.low > 0) == (x > 0) ? 1 : -1;
    };
    EXPECT_EQ(outwards(Expm1(x)), x > 0 ? 1 : -1);
    EXPECT_EQ(outwards(Log1p(x)), x > 0 ? -1 : 1);
    EXPECT_EQ(outwards(Sinh(x)), 1);
    EXPECT_EQ(outwards(Tanh(x)), -1);
    EXPECT_EQ(outwards(Asinh(x)), -1);
    EXPECT_EQ(outwards(Atanh(x)), 1);
    EXPECT_EQ(outwards(Sin(x)), -1);
    EXPECT_EQ(outwards(Tan(x)), 1);
    EXPECT_EQ(outwards(Atan(x)), -1);
    EXPECT_EQ(outwards(Asin(x)), 1);
    EXPECT_EQ(outwards(AtanYx(x, 1)), -1);
    EXPECT_EQ(outwards(Scaled(Gelu(x), 1)), x > 0 ? 1 : -1);
    EXPECT_EQ(outwards(Scaled(Swish(x, 1), 1)), x > 0 ? 1 : -1);
    EXPECT_EQ(outwards(Scaled(Swish(x, -1e-30), 1)), x > 0 ? -1 : 1);
    EXPECT_EQ(outwards(Scaled(Swish(x, 0), 1)), 0);
  }
}

TEST(SlowFunctions, TellOnWhichSideOfALimitTheyAre) {
  EXPECT_EQ(Tanh(90).high, 1);
  EXPECT_LT(Tanh(90).low, 0);
  EXPECT_EQ(Sigmoid(90).high, 1);
  EXPECT_LT(Sigmoid(90).low, 0);
  EXPECT_EQ(Sigmoid(0x1p-149), DoubleDouble(0.5, 0x1p-151));
  EXPECT_EQ(Softplus(200).high, 200);
  EXPECT_GT(Softplus(200).low, 0);
  EXPECT_EQ(Swish(90, 1).high, 90);
  EXPECT_LT(Swish(90, 1).low, 0);
  EXPECT_EQ(Expm1(-90).high, -1);
  EXPECT_GT(Expm1(-90).low, 0);
  EXPECT_EQ(Erf(10).high, 1);
  EXPECT_LT(Erf(10).low, 0);
}

TEST(SlowFunctions, DecideHalfWayTraps) {
  const auto rounded = [](const DoubleDouble& x) { return static_cast<float>(RoundedToOdd(x)); };
  EXPECT_EQ(rounded(Gelu(0x1p-149)), 0x1p-149f);
  EXPECT_EQ(rounded(Gelu(-0x1p-149)), 0);
  EXPECT_TRUE(std::signbit(rounded(Gelu(-0x1p-149))));
  EXPECT_EQ(rounded(Swish(0x3p-149, 1)), 0x1p-148f);
  EXPECT_EQ(rounded(Swish(-0x3p-149, 1)), -0x1p-149f);
  EXPECT_EQ(rounded(Sigmoid(0x3p-23)), 0.5f + 0x1p-24f);
  EXPECT_EQ(rounded(AtanYx(0x3p-149, 2)), 0x1p-149f);
  EXPECT_EQ(rounded(AtanYx(-0x3p-149, 2)), -0x1p-149f);
}

}  // namespace
}  // namespace opserve::cpu::slow
