// File: kernels/data_type.h
//
// What operators need of element types beyond opserve/data_type.h: sets of them, which are floats,
// and types of the same size. Everything here is constexpr, stateless and safe to use from any
// thread.

#ifndef OPSERVE_KERNELS_DATA_TYPE_H_
#define OPSERVE_KERNELS_DATA_TYPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "opserve/data_type.h"

namespace opserve {

// Whether it is a float type, of any width.
constexpr bool IsFloat(DataType type) {
  return type == DataType::kFloat64 || type == DataType::kFloat32 || type == DataType::kFloat16;
}

// The unsigned integer type of as many bytes, whose moves serve every type of that size. kUnknown
// for kUnknown.
constexpr DataType UnsignedOfSameSize(DataType type) {
  switch (SizeOf(type)) {
    case 1:
      return DataType::kUint8;
    case 2:
      return DataType::kUint16;
    case 4:
      return DataType::kUint32;
    case 8:
      return DataType::kUint64;
    default:
      return DataType::kUnknown;
  }
}

// A set of element types.
class DataTypeSet {
 public:
  constexpr DataTypeSet() = default;
  constexpr DataTypeSet(std::initializer_list<DataType> types) {
    for (DataType type : types) bits_ |= Bit(type);
  }

  constexpr bool contains(DataType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return __builtin_popcount(bits_); }
  constexpr bool operator==(const DataTypeSet&) const = default;
  constexpr DataTypeSet operator|(DataTypeSet other) const {
    DataTypeSet result;
    result.bits_ = static_cast<uint16_t>(bits_ | other.bits_);
    return result;
  }

  // The first member in the order of kAllDataTypes; kUnknown when empty.
  constexpr DataType first() const {
    for (DataType type : kAllDataTypes) {
      if (contains(type)) return type;
    }
    return DataType::kUnknown;
  }

  // The last member in that order; kUnknown when empty.
  constexpr DataType last() const {
    DataType found = DataType::kUnknown;
    for (DataType type : kAllDataTypes) {
      if (contains(type)) found = type;
    }
    return found;
  }

  // Members in the order of kAllDataTypes, joined: "FLOAT32, FLOAT16".
  std::string ToString() const;

 private:
  static constexpr uint16_t Bit(DataType type) {
    return static_cast<uint16_t>(1u << static_cast<unsigned>(type));
  }

  uint16_t bits_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_KERNELS_DATA_TYPE_H_
