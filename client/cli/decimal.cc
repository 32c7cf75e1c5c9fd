#include "client/cli/decimal.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace opserve::cli {
namespace {

double Decimal(double value) { return value; }

double Decimal(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  *std::to_chars(text, text + sizeof(text) - 1, value).ptr = '\0';
  return std::strtod(text, nullptr);
}

double Decimal(Half value) {
  const float wide = static_cast<float>(value);
  if (!std::isfinite(wide)) return wide;
  // Five significant digits identify every half, mostly fewer do.
  char text[32];
  for (int digits = 1; digits <= 5; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(wide));
    if (Half(std::strtof(text, nullptr)) == value) break;
  }
  return std::strtod(text, nullptr);
}

template <class T>
Element Load(const Tensor& tensor, uint64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes().data() + index * sizeof(T), sizeof(T));
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return int64_t{value};
  } else if constexpr (std::is_integral_v<T>) {
    return uint64_t{value};
  } else {
    return Decimal(value);
  }
}

}  // namespace

Element ElementAt(const Tensor& tensor, uint64_t index) {
  switch (tensor.data_type()) {
    case DataType::kFloat32:
      return Load<float>(tensor, index);
    case DataType::kFloat16:
      return Load<Half>(tensor, index);
    case DataType::kFloat64:
      return Load<double>(tensor, index);
    case DataType::kUint64:
      return Load<uint64_t>(tensor, index);
    case DataType::kUint32:
      return Load<uint32_t>(tensor, index);
    case DataType::kUint16:
      return Load<uint16_t>(tensor, index);
    case DataType::kUint8:
      return Load<uint8_t>(tensor, index);
    case DataType::kInt64:
      return Load<int64_t>(tensor, index);
    case DataType::kInt32:
      return Load<int32_t>(tensor, index);
    case DataType::kInt16:
      return Load<int16_t>(tensor, index);
    case DataType::kInt8:
      return Load<int8_t>(tensor, index);
    case DataType::kUnknown:
      break;
  }
  return uint64_t{0};
}

}  // namespace opserve::cli
