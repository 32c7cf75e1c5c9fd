#include "client/cli/decimal.h"

#include <cstdlib>
#include <cstring>

namespace opserve::cli {

Element ToElement(const ElementValue& element) {
  switch (element.data_type) {
    case DataType::kFloat64:
    case DataType::kFloat32:
    case DataType::kFloat16:
      return std::strtod(ToString(element).c_str(), nullptr);
    case DataType::kInt64:
      return static_cast<int64_t>(element.bits);
    case DataType::kInt32:
      return int64_t{static_cast<int32_t>(element.bits)};
    case DataType::kInt16:
      return int64_t{static_cast<int16_t>(element.bits)};
    case DataType::kInt8:
      return int64_t{static_cast<int8_t>(element.bits)};
    case DataType::kUint64:
    case DataType::kUint32:
    case DataType::kUint16:
    case DataType::kUint8:
      return element.bits;
    case DataType::kUnknown:
      break;
  }
  return uint64_t{0};
}

Element ElementAt(const Tensor& tensor, uint64_t index) {
  const size_t size = SizeOf(tensor.data_type());
  ElementValue element{tensor.data_type(), 0};
  std::memcpy(&element.bits, tensor.bytes().data() + index * size, size);
  return ToElement(element);
}

}  // namespace opserve::cli
