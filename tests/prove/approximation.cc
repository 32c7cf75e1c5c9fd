#include "tests/prove/approximation.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace opserve::testing {
namespace {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

// ln(1 + e^x)
Wide Softplus(Wide x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

}  // namespace

long double Approximation(OpId op, float input, const std::array<float, 2>& attributes) {
  const Wide x = input;
  const Wide p = attributes[0];
  const Wide q = attributes[1];
  switch (op) {
    case OpId::ELEMENT_WISE_ACOS:
      return std::acos(x);
    case OpId::ELEMENT_WISE_ACOSH:
      return std::acosh(x);
    case OpId::ELEMENT_WISE_ASIN:
      return std::asin(x);
    case OpId::ELEMENT_WISE_ASINH:
      return std::asinh(x);
    case OpId::ELEMENT_WISE_ATAN:
      return std::atan(x);
    case OpId::ELEMENT_WISE_ATANH:
      return std::atanh(x);
    case OpId::ELEMENT_WISE_CONSTANT_POW:
      return std::pow(x, p);
    case OpId::ELEMENT_WISE_COS:
      return std::cos(x);
    case OpId::ELEMENT_WISE_COSH:
      return std::cosh(x);
    case OpId::ELEMENT_WISE_ERF:
      return std::erf(x);
    case OpId::ELEMENT_WISE_EXP:
      return std::exp(x);
    case OpId::ELEMENT_WISE_LOG:
      return std::log(x);
    case OpId::ELEMENT_WISE_SIN:
      return std::sin(x);
    case OpId::ELEMENT_WISE_SINH:
      return std::sinh(x);
    case OpId::ELEMENT_WISE_TAN:
      return std::tan(x);
    case OpId::ELEMENT_WISE_TANH:
    case OpId::ACTIVATION_TANH:
      return std::tanh(x);
    case OpId::ACTIVATION_SIGMOID:
      return 1 / (1 + std::exp(-x));
    case OpId::ACTIVATION_GELU:
      return x / 2 * std::erfc(-x / std::sqrt(Wide{2}));
    case OpId::ACTIVATION_SWISH:
      return x / (1 + std::exp(-p * x));
    case OpId::ACTIVATION_CELU:
      return x > 0 ? x : p * std::expm1(x / p);
    case OpId::ACTIVATION_ELU:
      return x >= 0 ? x : p * std::expm1(x);
    case OpId::ACTIVATION_SCALED_ELU:
      return q * (x >= 0 ? x : p * std::expm1(x));
    case OpId::ACTIVATION_SCALED_TANH:
      return p * std::tanh(q * x);
    case OpId::ACTIVATION_SOFTPLUS:
      return Softplus(p * x) / p;
    case OpId::ACTIVATION_PARAMETRIC_SOFTPLUS:
      return p * Softplus(q * x);
    default:
      std::abort();
  }
}

}  // namespace opserve::testing
