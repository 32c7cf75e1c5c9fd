#include "client/inputs/special_floats.h"

#include <algorithm>
#include <cmath>

namespace opserve {
namespace {

// The layout of a float type, from the top: sign, exponent, mantissa.
struct Layout {
  int exponent_bits;
  int mantissa_bits;

  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits - 1); }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
};

Layout LayoutOf(DataType type) {
  if (type == DataType::kFloat64) return {11, 52};
  if (type == DataType::kFloat32) return {8, 23};
  return {5, 10};
}

// The encoding of a number above zero, rounded to the nearest, ties to even.
uint64_t Encoded(const Layout& layout, double value) {
  const int bias = (1 << (layout.exponent_bits - 1)) - 1;
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  // With the leading one, which is not in the encoding but adds 1 to the exponent.
  const double mantissa = std::nearbyint(std::ldexp(value, layout.mantissa_bits - exponent));
  const uint64_t below = static_cast<uint64_t>(exponent + bias - 1) << layout.mantissa_bits;
  return std::min(below + static_cast<uint64_t>(mantissa), layout.infinity());
}

}  // namespace

std::vector<uint64_t> SpecialFloats(DataType type) {
  const Layout layout = LayoutOf(type);
  std::vector<uint64_t> magnitudes = {
      0,
      1,  // least denormal
      3,
      (uint64_t{1} << layout.mantissa_bits) - 1,  // largest denormal
      uint64_t{1} << layout.mantissa_bits,        // least normal number
      layout.infinity() - 1,                      // largest finite number
      layout.infinity(),
      layout.infinity() | 1,  // signalling NaNs
      layout.infinity() | (layout.quiet_bit() - 1),
      layout.infinity() | layout.quiet_bit(),  // quiet NaNs
      layout.infinity() | layout.quiet_bit() | 5,
  };
  for (double value :
       {0.1,        0.25,         0.3,       0.5,       1.0,       1.5,       2.0,
        2.5,        3.0,          3.5,       4.5,       5.0,       7.0,       10.0,
        100.0,      255.5,        511.5,     1023.5,    1024.0,    2047.0,    4096.0,
        60000.0,    4194303.5,    4194304.5, 8388607.5, 8388608.0, 8388609.0, 16777215.0,
        16777216.0, 2147483648.0, 1e10,      1e30,      1e-5,      1e-30}) {
    const uint64_t bits = Encoded(layout, value);
    const uint64_t below = bits == 0 ? 0 : bits - 1;
    for (uint64_t neighbour : {below, bits, bits + 1}) magnitudes.push_back(neighbour);
  }
  std::vector<uint64_t> values;
  for (uint64_t magnitude : magnitudes) {
    values.push_back(magnitude);
    values.push_back(magnitude | layout.sign());
  }
  return values;
}

}  // namespace opserve
