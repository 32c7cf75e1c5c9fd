// Powers.

#include <cmath>
#include <optional>

#include "kernels/cpu/slow/elementary.h"

namespace opserve::cpu::slow {
namespace {

// b^n for an integer n >= 0, where it has at most 53 digits: odd factors of more than one digit
// grow beyond them within 33 steps.
std::optional<double> ExactIntegerPower(double b, double n) {
  double power = 1;
  for (; n > 0; --n) {
    const DoubleDouble product = ExactProduct(power, b);
    if (product.low != 0) return std::nullopt;
    power = product.high;
  }
  return power;
}

// x^y where it is a double. With y = n / 2^k in lowest terms, x is the 2^k-th power of a number b
// of few digits then, and the result b^n.
std::optional<double> ExactPower(double x, double y) {
  double b = x;
  double n = y;
  for (; n != std::floor(n); n *= 2) {
    const double root = std::sqrt(b);
    // A root is exact where its square is the number.
    if (root == b || !(ExactProduct(root, root) == b)) break;
    b = root;
  }
  if (b == 1) return 1;
  if (n != std::floor(n)) return std::nullopt;
  int exponent = 0;
  const double digits = std::frexp(b, &exponent);
  if (digits == 0.5) return std::ldexp(1.0, static_cast<int>(n) * (exponent - 1));
  if (n < 0 || n > 33) return std::nullopt;
  return ExactIntegerPower(b, n);
}

}  // namespace

DoubleDouble Pow(double x, double y) {
  const DoubleDouble power = Exp(y * Log(x));
  if (power.high < 0x1p-160 || power.high > 0x1p130) return power;
  if (const std::optional<double> exact = ExactPower(x, y)) return *exact;
  return power;
}

}  // namespace opserve::cpu::slow
