#include "tests/conformance/special_values.h"

#include <array>

#include "client/inputs/special_floats.h"
#include "server/pool/verify/float_format.h"

namespace opserve::testing {
namespace {

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
      all[static_cast<size_t>(each)] = IsFloat(each) ? SpecialFloats(each) : IntegerValues(each);
    }
    return all;
  }());
  return values[static_cast<size_t>(type)];
}

bool IsNan(DataType type, uint64_t bits) { return IsFloat(type) && FormatOf(type).is_nan(bits); }

bool IsSignallingNan(DataType type, uint64_t bits) {
  return IsNan(type, bits) && (bits & FormatOf(type).quiet_bit()) == 0;
}

}  // namespace opserve::testing
