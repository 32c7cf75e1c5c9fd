#include "tests/conformance/exact_values.h"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "server/pool/verify/float_format.h"

namespace opserve::testing {
namespace {

// Digits enough for e^x - 1 next to 0 and for powers next to a middle: what is beyond them is cut
// off, never rounded away.
constexpr mpfr_prec_t kPrecision = 400;
constexpr mpfr_rnd_t kCut = MPFR_RNDZ;

// A number of MPFR.
class Real {
 public:
  Real() { mpfr_init2(value_, kPrecision); }
  explicit Real(double value) : Real() { mpfr_set_d(value_, value, kCut); }
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, kCut); }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, kCut);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

using Function = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
using Operation = int (*)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

Real Apply(Function function, const Real& x) {
  Real result;
  function(result.get(), x.get(), kCut);
  return result;
}

Real Apply(Operation operation, const Real& x, const Real& y) {
  Real result;
  operation(result.get(), x.get(), y.get(), kCut);
  return result;
}

Real operator+(const Real& x, const Real& y) { return Apply(mpfr_add, x, y); }
Real operator*(const Real& x, const Real& y) { return Apply(mpfr_mul, x, y); }
Real operator/(const Real& x, const Real& y) { return Apply(mpfr_div, x, y); }
Real operator-(const Real& x) { return Apply(mpfr_neg, x); }

// x - y: exact.
Real Difference(float x, float y) { return Real(x) + -Real(y); }

double RoundedToOdd(const Real& value) {
  const double cut = mpfr_get_d(value.get(), kCut);
  if (!std::isfinite(cut) || mpfr_cmp_d(value.get(), cut) == 0) return cut;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(cut) | 1);
}

// ln(1 + e^x). The sum keeps a power that is far smaller than x in sight.
Real Softplus(const Real& x) {
  // MPFR has zeros for smaller powers, and that of no finite number is one. Nobody sees how small.
  constexpr double kLeast = -1e8;
  if (mpfr_number_p(x.get()) != 0 && mpfr_cmp_d(x.get(), kLeast) < 0) return Softplus(Real(kLeast));
  if (mpfr_sgn(x.get()) <= 0 || mpfr_inf_p(x.get())) {
    return Apply(mpfr_log1p, Apply(mpfr_exp, x));
  }
  // Any smaller number would do as well.
  if (mpfr_cmp_d(x.get(), 200) > 0) return x + x * Real(0x1p-300);
  return x + Apply(mpfr_log1p, Apply(mpfr_exp, -x));
}

// x / (1 + e^(-s * x)), or the limit.
Real Swish(float x, float s) {
  const Real product = Real(x) * Real(s);
  if (std::isinf(x) && std::isfinite(s) && s != 0) {
    return mpfr_sgn(product.get()) > 0 ? Real(x) : Real(std::copysign(0.0, x));
  }
  return Real(x) / (Real(1) + Apply(mpfr_exp, -product));
}

Real Gelu(float x) {
  if (x == -std::numeric_limits<float>::infinity()) return Real(-0.0);
  const Real argument = Real(x) / Apply(mpfr_sqrt, Real(2));
  return Real(x) / Real(2) * Apply(mpfr_erfc, -argument);
}

Real Celu(float x, float alpha) {
  if (x > 0) return Real(x);
  if (!(x < 0) || alpha == 0 || !std::isfinite(alpha)) return Real(0);
  return Real(alpha) * Apply(mpfr_expm1, Real(x) / Real(alpha));
}

// C's pow. Powers far beyond all elements, which may have any number of digits, are as good as 0 or
// infinite.
Real Pow(double x, double exponent) {
  const double logarithm = exponent * std::log2(std::fabs(x));
  const bool is_whole = exponent == std::trunc(exponent);
  if (std::isfinite(logarithm) && std::fabs(logarithm) > 1000 && (x > 0 || is_whole)) {
    const double power = logarithm > 0 ? HUGE_VAL : 0.0;
    return Real(x < 0 && std::fmod(exponent, 2) != 0 ? -power : power);
  }
  return Apply(mpfr_pow, Real(x), Real(exponent));
}

Real Evaluated(OpId op, const ExactArguments& arguments) {
  const float x = arguments.inputs[0];
  const auto [p, q] = arguments.attributes;
  switch (op) {
    case OpId::ELEMENT_WISE_ACOS:
      return Apply(mpfr_acos, Real(x));
    case OpId::ELEMENT_WISE_ACOSH:
      return Apply(mpfr_acosh, Real(x));
    case OpId::ELEMENT_WISE_ASIN:
      return Apply(mpfr_asin, Real(x));
    case OpId::ELEMENT_WISE_ASINH:
      return Apply(mpfr_asinh, Real(x));
    case OpId::ELEMENT_WISE_ATAN:
      return Apply(mpfr_atan, Real(x));
    case OpId::ELEMENT_WISE_ATANH:
      return Apply(mpfr_atanh, Real(x));
    case OpId::ELEMENT_WISE_ATAN_YX:
      return Apply(mpfr_atan2, Real(x), Real(arguments.inputs[1]));
    case OpId::ELEMENT_WISE_CONSTANT_POW:
      return Pow(x, p);
    case OpId::ELEMENT_WISE_POW:
      return Pow(x, arguments.inputs[1]);
    case OpId::ELEMENT_WISE_COS:
      return Apply(mpfr_cos, Real(x));
    case OpId::ELEMENT_WISE_COSH:
      return Apply(mpfr_cosh, Real(x));
    case OpId::ELEMENT_WISE_ERF:
      return Apply(mpfr_erf, Real(x));
    case OpId::ELEMENT_WISE_EXP:
      return Apply(mpfr_exp, Real(x));
    case OpId::ELEMENT_WISE_LOG:
      return Apply(mpfr_log, Real(x));
    case OpId::ELEMENT_WISE_SIN:
      return Apply(mpfr_sin, Real(x));
    case OpId::ELEMENT_WISE_SINH:
      return Apply(mpfr_sinh, Real(x));
    case OpId::ELEMENT_WISE_TAN:
      return Apply(mpfr_tan, Real(x));
    case OpId::ELEMENT_WISE_TANH:
    case OpId::ACTIVATION_TANH:
      return Apply(mpfr_tanh, Real(x));
    case OpId::ACTIVATION_SIGMOID:
      return Real(1) / (Real(1) + Apply(mpfr_exp, -Real(x)));
    case OpId::ACTIVATION_GELU:
      return Gelu(x);
    case OpId::ACTIVATION_SWISH:
      return Swish(x, p);
    case OpId::ACTIVATION_CELU:
      return Celu(x, p);
    case OpId::ACTIVATION_ELU:
      return x >= 0 ? Real(x) : Real(p) * Apply(mpfr_expm1, Real(x));
    case OpId::ACTIVATION_SCALED_ELU:
      return Real(q) * (x >= 0 ? Real(x) : Real(p) * Apply(mpfr_expm1, Real(x)));
    case OpId::ACTIVATION_SCALED_TANH:
      return Real(p) * Apply(mpfr_tanh, Real(q) * Real(x));
    case OpId::ACTIVATION_SOFTPLUS:
      return Softplus(Real(p) * Real(x)) / Real(p);
    case OpId::ACTIVATION_PARAMETRIC_SOFTPLUS:
      return Real(p) * Softplus(Real(q) * Real(x));
    default:
      std::abort();
  }
}

}  // namespace

const std::vector<OpId>& TranscendentalOperators() {
  static const auto& ops = *new std::vector<OpId>{
      OpId::ELEMENT_WISE_ACOS,     OpId::ELEMENT_WISE_ACOSH,
      OpId::ELEMENT_WISE_ASIN,     OpId::ELEMENT_WISE_ASINH,
      OpId::ELEMENT_WISE_ATAN,     OpId::ELEMENT_WISE_ATANH,
      OpId::ELEMENT_WISE_ATAN_YX,  OpId::ELEMENT_WISE_CONSTANT_POW,
      OpId::ELEMENT_WISE_COS,      OpId::ELEMENT_WISE_COSH,
      OpId::ELEMENT_WISE_ERF,      OpId::ELEMENT_WISE_EXP,
      OpId::ELEMENT_WISE_LOG,      OpId::ELEMENT_WISE_POW,
      OpId::ELEMENT_WISE_SIN,      OpId::ELEMENT_WISE_SINH,
      OpId::ELEMENT_WISE_TAN,      OpId::ELEMENT_WISE_TANH,
      OpId::ACTIVATION_CELU,       OpId::ACTIVATION_ELU,
      OpId::ACTIVATION_GELU,       OpId::ACTIVATION_PARAMETRIC_SOFTPLUS,
      OpId::ACTIVATION_SCALED_ELU, OpId::ACTIVATION_SCALED_TANH,
      OpId::ACTIVATION_SIGMOID,    OpId::ACTIVATION_SOFTPLUS,
      OpId::ACTIVATION_SWISH,      OpId::ACTIVATION_TANH,
  };
  return ops;
}

std::vector<double> ExactLogSoftmax(std::span<const float> row) {
  const float maximum = *std::max_element(row.begin(), row.end());
  Real rest(0);
  double maxima = 0;
  bool has_rest = false;
  for (float x : row) {
    if (x == maximum) {
      ++maxima;
    } else {
      rest = rest + Apply(mpfr_exp, Difference(x, maximum));
      has_rest = has_rest || std::isfinite(x);
    }
  }
  // Where it is far smaller than any element, any such number does as well.
  if (has_rest && mpfr_cmp_d(rest.get(), 0x1p-200) < 0) rest = Real(0x1p-200);
  const Real logarithm = Apply(mpfr_log, Real(maxima)) + Apply(mpfr_log1p, rest / Real(maxima));
  std::vector<double> results;
  for (float x : row) results.push_back(RoundedToOdd(Difference(x, maximum) + -logarithm));
  return results;
}

std::vector<double> ExactSoftmax(std::span<const float> row) {
  const float maximum = *std::max_element(row.begin(), row.end());
  Real sum(0);
  for (float x : row) sum = sum + Apply(mpfr_exp, Difference(x, maximum));
  std::vector<double> results;
  for (float x : row) {
    results.push_back(RoundedToOdd(Apply(mpfr_exp, Difference(x, maximum)) / sum));
  }
  return results;
}

void FreeExactValuesOfThread() { mpfr_free_cache(); }

double ExactResult(OpId op, const ExactArguments& arguments) {
  return RoundedToOdd(Evaluated(op, arguments));
}

std::optional<double> DistanceToMiddle(OpId op, const ExactArguments& arguments, DataType type) {
  Real result = Evaluated(op, arguments);
  if (mpfr_regular_p(result.get()) == 0 || mpfr_min_prec(result.get()) <= 53) return std::nullopt;
  const FloatFormat format = FormatOf(type);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(mpfr_get_exp(result.get()));
  if (exponent > bias + 1) return std::nullopt;
  // The last digit that an element of this magnitude has.
  const int digit = std::max(exponent - format.mantissa_bits - 1, 1 - bias - format.mantissa_bits);
  mpfr_mul_2si(result.get(), result.get(), -digit, kCut);
  mpfr_abs(result.get(), result.get(), kCut);
  mpfr_frac(result.get(), result.get(), kCut);
  return std::fabs(mpfr_get_d((result + Real(-0.5)).get(), MPFR_RNDN));
}

}  // namespace opserve::testing
