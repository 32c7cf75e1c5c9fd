// File: opserve/data_type.h
//
// Element types of tensors: the numbers of DML_TENSOR_DATA_TYPE, their sizes and names. Everything
// here is stateless and safe to use from any thread.

#ifndef OPSERVE_DATA_TYPE_H_
#define OPSERVE_DATA_TYPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace opserve {

// Element type of a tensor. Values equal DML_TENSOR_DATA_TYPE and the proto's DataType.
enum class DataType : uint8_t {
  kUnknown = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kUint32 = 3,
  kUint16 = 4,
  kUint8 = 5,
  kInt32 = 6,
  kInt16 = 7,
  kInt8 = 8,
  kFloat64 = 9,
  kUint64 = 10,
  kInt64 = 11,
};

// Number of enumerators, kUnknown included; valid types are 1 .. kDataTypeCount - 1.
inline constexpr int kDataTypeCount = 12;

// All valid types in the order of the operator tables of DirectML's documentation.
inline constexpr std::array<DataType, 11> kAllDataTypes = {
    DataType::kFloat64, DataType::kFloat32, DataType::kFloat16, DataType::kInt64,
    DataType::kInt32,   DataType::kInt16,   DataType::kInt8,    DataType::kUint64,
    DataType::kUint32,  DataType::kUint16,  DataType::kUint8,
};

// Bytes of one element; 0 for kUnknown.
constexpr size_t SizeOf(DataType type) {
  constexpr std::array<uint8_t, kDataTypeCount> kSizes = {0, 4, 2, 4, 2, 1, 4, 2, 1, 8, 8, 8};
  return kSizes[static_cast<size_t>(type)];
}

// DirectML's name without its prefix, such as "FLOAT32"; "UNKNOWN" for kUnknown.
constexpr absl::string_view NameOf(DataType type) {
  constexpr std::array<absl::string_view, kDataTypeCount> kNames = {
      "UNKNOWN", "FLOAT32", "FLOAT16", "UINT32",  "UINT16", "UINT8",
      "INT32",   "INT16",   "INT8",    "FLOAT64", "UINT64", "INT64"};
  return kNames[static_cast<size_t>(type)];
}

// The type with the given number, or nullopt for 0 (unknown) and numbers out of range.
std::optional<DataType> DataTypeFromNumber(int number);

// The type with the given name, in upper or lower case, or nullopt.
std::optional<DataType> DataTypeFromName(absl::string_view name);

}  // namespace opserve

#endif  // OPSERVE_DATA_TYPE_H_
