#include "tests/conformance/special_values.h"

#include <array>
#include <cstring>

#include "kernels/reference_ops.h"

namespace opserve::testing {
namespace {

// The layout of a float type.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;

  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits - 1); }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
};

FloatFormat FormatOf(DataType type) {
  if (type == DataType::kFloat64) return {11, 52};
  if (type == DataType::kFloat32) return {8, 23};
  return {5, 10};
}

uint64_t BitsOf(DataType type, double value) {
  if (type == DataType::kFloat16) return reference::ToHalf(static_cast<float>(value)).bits;
  uint64_t bits = 0;
  const float narrow = static_cast<float>(value);
  if (type == DataType::kFloat32) std::memcpy(&bits, &narrow, sizeof(narrow));
  if (type == DataType::kFloat64) std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

std::vector<uint64_t> FloatValues(DataType type) {
  const FloatFormat format = FormatOf(type);
  std::vector<uint64_t> magnitudes = {
      0,
      1,  // least denormal
      3,
      (uint64_t{1} << format.mantissa_bits) - 1,  // largest denormal
      uint64_t{1} << format.mantissa_bits,        // least normal number
      format.infinity() - 1,                      // largest finite number
      format.infinity(),
      format.infinity() | 1,  // signalling NaNs
      format.infinity() | (format.quiet_bit() - 1),
      format.infinity() | format.quiet_bit(),  // quiet NaNs
      format.infinity() | format.quiet_bit() | 5,
  };
  for (double value :
       {0.1,        0.25,         0.3,       0.5,       1.0,       1.5,       2.0,
        2.5,        3.0,          3.5,       4.5,       5.0,       7.0,       10.0,
        100.0,      255.5,        511.5,     1023.5,    1024.0,    2047.0,    4096.0,
        60000.0,    4194303.5,    4194304.5, 8388607.5, 8388608.0, 8388609.0, 16777215.0,
        16777216.0, 2147483648.0, 1e10,      1e30,      1e-5,      1e-30}) {
    const uint64_t bits = BitsOf(type, value);
    for (uint64_t neighbour : {bits - 1, bits, bits + 1}) magnitudes.push_back(neighbour);
  }
  std::vector<uint64_t> values;
  for (uint64_t magnitude : magnitudes) {
    values.push_back(magnitude);
    values.push_back(magnitude | format.sign());
  }
  return values;
}

std::vector<uint64_t> IntegerValues(DataType type) {
  const int bits = static_cast<int>(SizeOf(type)) * 8;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> values;
  for (int shift : {0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63}) {
    if (shift >= bits) break;
    const uint64_t power = uint64_t{1} << shift;
    for (uint64_t value : {power - 1, power, power + 1}) {
      values.push_back(value & mask);
      values.push_back((0 - value) & mask);
    }
  }
  for (uint64_t value : {5u, 7u, 10u, 100u, 127u}) {
    values.push_back(value);
    values.push_back((0 - value) & mask);
  }
  return values;
}

}  // namespace

const std::vector<uint64_t>& SpecialValues(DataType type) {
  static const auto& values = *new auto([] {
    std::array<std::vector<uint64_t>, kDataTypeCount> all;
    for (DataType each : kAllDataTypes) {
      all[static_cast<size_t>(each)] = IsFloat(each) ? FloatValues(each) : IntegerValues(each);
    }
    return all;
  }());
  return values[static_cast<size_t>(type)];
}

bool IsNan(DataType type, uint64_t bits) {
  if (!IsFloat(type)) return false;
  const FloatFormat format = FormatOf(type);
  return (bits & (format.sign() - 1)) > format.infinity();
}

bool IsSignallingNan(DataType type, uint64_t bits) {
  return IsNan(type, bits) && (bits & FormatOf(type).quiet_bit()) == 0;
}

}  // namespace opserve::testing
