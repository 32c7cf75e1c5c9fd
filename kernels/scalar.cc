#include "kernels/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace opserve {
namespace {

// The nearest FLOAT16, to even where two are equally near.
float NearestHalf(double number) {
  if (!(std::abs(number) < 65520)) return static_cast<float>(number * 0x1p120);
  // Its digits end ten places behind the first, and at 2^-24.
  constexpr double kLeastNormal = 0x1p-14;
  const int last = std::ilogb(std::max(std::abs(number), kLeastNormal)) - 10;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(number, -last)), last));
}

Scalar OfFloat(double number, DataType type) {
  const float value = type == DataType::kFloat16 ? NearestHalf(number) : static_cast<float>(number);
  return {std::bit_cast<uint32_t>(value)};
}

// `number` as an element of T; Number is an integer type.
template <class T, class Number>
std::optional<Scalar> OfInteger(Number number) {
  if (!std::in_range<T>(number)) return std::nullopt;
  return Scalar{static_cast<uint64_t>(number)};
}

template <class Number>
std::optional<Scalar> OfIntegerType(Number number, DataType type) {
  switch (type) {
    case DataType::kInt64:
      return OfInteger<int64_t>(number);
    case DataType::kInt32:
      return OfInteger<int32_t>(number);
    case DataType::kInt16:
      return OfInteger<int16_t>(number);
    case DataType::kInt8:
      return OfInteger<int8_t>(number);
    case DataType::kUint64:
      return OfInteger<uint64_t>(number);
    case DataType::kUint32:
      return OfInteger<uint32_t>(number);
    case DataType::kUint16:
      return OfInteger<uint16_t>(number);
    case DataType::kUint8:
      return OfInteger<uint8_t>(number);
    case DataType::kUnknown:
    case DataType::kFloat64:
    case DataType::kFloat32:
    case DataType::kFloat16:
      break;
  }
  return std::nullopt;
}

bool HasFloatScalars(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16;
}

// FLOAT32 has no integers between those of INT64 that need more than 24 digits: rounding to FLOAT64
// first would round twice. To odd, it does not.
template <class Number>
double RoundedToOdd(Number number) {
  const auto value = static_cast<double>(number);
  if (std::abs(value) < 0x1p53) return value;
  // Above 2^53 the last bits decide only where all others are on a middle.
  const Number head = number & ~Number{0x7FF};
  return static_cast<double>(head == number ? head : static_cast<Number>(head | 0x800));
}

}  // namespace

std::optional<Scalar> ScalarOf(int64_t number, DataType type) {
  if (HasFloatScalars(type)) return OfFloat(RoundedToOdd(number), type);
  return OfIntegerType(number, type);
}

std::optional<Scalar> ScalarOf(uint64_t number, DataType type) {
  if (HasFloatScalars(type)) return OfFloat(RoundedToOdd(number), type);
  return OfIntegerType(number, type);
}

std::optional<Scalar> ScalarOf(double number, DataType type) {
  if (HasFloatScalars(type)) return OfFloat(number, type);
  if (number != std::trunc(number) || !(std::abs(number) < 0x1p64)) return std::nullopt;
  if (number < 0) {
    if (number < -0x1p63) return std::nullopt;
    return OfIntegerType(static_cast<int64_t>(number), type);
  }
  return OfIntegerType(static_cast<uint64_t>(number), type);
}

}  // namespace opserve
