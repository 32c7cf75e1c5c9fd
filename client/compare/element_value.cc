#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/compare/element_traits.h"
#include "opserve/compare.h"

namespace opserve {
namespace {

template <class Float>
std::string Shortest(Float value) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// The standard library has no text of a half; five digits identify each, mostly fewer do.
std::string ShortestOfHalf(Half value) {
  const auto wide = static_cast<float>(value);
  char text[32] = "";
  for (int digits = 1; digits <= 5; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(wide));
    if (Half(std::strtof(text, nullptr)) == value) break;
  }
  // In the form of the other types.
  return Shortest(std::strtod(text, nullptr));
}

template <class Float>
std::string TextOf(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return Shortest(value);
}

}  // namespace

std::string ToString(const ElementValue& element) {
  const uint64_t bits = element.bits;
  switch (element.data_type) {
    case DataType::kFloat64:
      return TextOf(std::bit_cast<double>(bits));
    case DataType::kFloat32:
      return TextOf(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DataType::kFloat16: {
      const Half half = Half::FromBits(static_cast<uint16_t>(bits));
      const auto wide = static_cast<float>(half);
      return std::isfinite(wide) ? ShortestOfHalf(half) : TextOf(wide);
    }
    case DataType::kInt64:
      return absl::StrCat(static_cast<int64_t>(bits));
    case DataType::kInt32:
      return absl::StrCat(static_cast<int32_t>(bits));
    case DataType::kInt16:
      return absl::StrCat(static_cast<int16_t>(bits));
    case DataType::kInt8:
      return absl::StrCat(static_cast<int8_t>(bits));
    case DataType::kUint64:
    case DataType::kUint32:
    case DataType::kUint16:
    case DataType::kUint8:
      return absl::StrCat(bits);
    case DataType::kUnknown:
      break;
  }
  return "";
}

std::string ToHex(const ElementValue& element) {
  const size_t digits = 2 * SizeOf(element.data_type);
  return digits == 0 ? "" : absl::StrFormat("0x%0*x", static_cast<int>(digits), element.bits);
}

}  // namespace opserve
