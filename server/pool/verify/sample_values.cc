#include "server/pool/verify/sample_values.h"

#include <algorithm>
#include <cstring>

#include "server/pool/verify/float_format.h"

namespace opserve {
namespace {

// Larger inputs repeat a block: making random numbers takes longer than running calls. A multiple
// of the size of every type.
constexpr size_t kBlockBytes = size_t{16} << 10;

std::vector<uint64_t> SpecialFloats(const FloatFormat& format) {
  const uint64_t least_normal = uint64_t{1} << format.mantissa_bits;
  std::vector<uint64_t> magnitudes = {
      0,
      1,  // least denormal
      least_normal - 1,
      least_normal,
      format.infinity() - 1,  // largest finite number
      format.infinity(),
      format.infinity() | 1,  // signalling NaN
      format.infinity() | format.quiet_bit(),
      format.infinity() | format.quiet_bit() | 5,
  };
  // 1 and 0.5 with their neighbours, 1.5, and numbers at which fractions end.
  const uint64_t one = format.one();
  const uint64_t half = one - least_normal;
  const uint64_t exact =
      one + (static_cast<uint64_t>(format.mantissa_bits) << format.mantissa_bits);
  for (uint64_t around : {half, one, one | format.quiet_bit(), exact - least_normal, exact}) {
    magnitudes.insert(magnitudes.end(), {around - 1, around, around + 1});
  }
  std::vector<uint64_t> values;
  for (uint64_t magnitude : magnitudes) {
    values.push_back(magnitude);
    values.push_back(magnitude | format.sign());
  }
  return values;
}

std::vector<uint64_t> SpecialIntegers(size_t bytes) {
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  const uint64_t all = sign | (sign - 1);
  return {0, 1, 2, 3, 10, all, all - 1, sign, sign - 1, sign + 1};
}

// A float of 1 to 16, or an integer of 1 to 100.
uint64_t UsualValue(DataType type, uint64_t dice) {
  if (!IsFloat(type)) return dice % 100 + 1;
  const FloatFormat format = FormatOf(type);
  return format.one() + dice % (uint64_t{4} << format.mantissa_bits);
}

uint64_t NegativeOf(DataType type, uint64_t value) {
  return IsFloat(type) ? value | FormatOf(type).sign() : ~value + 1;
}

// A float of 2^-8 to 2^9 with either sign: where functions bend and read their tables. Of any bits
// most are far from there.
uint64_t MiddleFloat(const FloatFormat& format, uint64_t dice) {
  const uint64_t magnitude = format.one() - (uint64_t{8} << format.mantissa_bits) +
                             dice % (uint64_t{17} << format.mantissa_bits);
  return dice >> 63 != 0 ? magnitude | format.sign() : magnitude;
}

// Half of the floats are middle ones and a quarter has any bits, as half of the integers have; the
// rest is special.
uint64_t HardValue(DataType type, std::span<const uint64_t> special, uint64_t dice, uint64_t bits) {
  if (dice % 2 == 0) return IsFloat(type) ? MiddleFloat(FormatOf(type), bits) : bits;
  if (dice % 4 == 1 && IsFloat(type)) return bits;
  return special[(dice >> 2) % special.size()];
}

}  // namespace

std::vector<uint64_t> SpecialValuesOf(DataType type) {
  return IsFloat(type) ? SpecialFloats(FormatOf(type)) : SpecialIntegers(SizeOf(type));
}

void FillWithSamples(DataType type, SampleValues values, std::mt19937_64& random,
                     std::span<std::byte> bytes) {
  const std::vector<uint64_t> special = SpecialValuesOf(type);
  const size_t size = SizeOf(type);
  const std::span<std::byte> block = bytes.first(std::min(bytes.size(), kBlockBytes));
  size_t at = 0;
  for (; at + size <= block.size(); at += size) {
    const uint64_t dice = random();
    const uint64_t bits = random();
    const uint64_t value = values == SampleValues::kHard ? HardValue(type, special, dice, bits)
                           : values == SampleValues::kUsual
                               ? UsualValue(type, dice)
                               : NegativeOf(type, UsualValue(type, dice));
    // Little endian, like all payloads.
    std::memcpy(block.data() + at, &value, size);
  }
  std::fill(block.begin() + static_cast<ptrdiff_t>(at), block.end(), std::byte{0});
  for (at = block.size(); at < bytes.size(); at += block.size()) {
    std::memcpy(bytes.data() + at, block.data(), std::min(block.size(), bytes.size() - at));
  }
}

}  // namespace opserve
