// File: kernels/op_rows.h
//
// The rows of kernels/operators.def as constants, for code that decides at compile time which
// (operator, type) cells exist. Everybody else reads OpTable() of kernels/op_table.h.

#ifndef OPSERVE_KERNELS_OP_ROWS_H_
#define OPSERVE_KERNELS_OP_ROWS_H_

#include <cstddef>
#include <iterator>

#include "kernels/op_table.h"

namespace opserve::op_rows {

using enum DataType;

// Type groups of DirectML's support tables.
inline constexpr DataTypeSet kF16 = {kFloat16};
inline constexpr DataTypeSet kF32 = {kFloat32};
inline constexpr DataTypeSet kU8 = {kUint8};
inline constexpr DataTypeSet kBytes2 = {kInt8, kUint8};
inline constexpr DataTypeSet kFloat32AndInt32 = {kFloat32, kInt32};
inline constexpr DataTypeSet kFloatsAndInt32 = {kFloat32, kFloat16, kInt32};
inline constexpr DataTypeSet kIntegers6 = {kInt32, kInt16, kInt8, kUint32, kUint16, kUint8};
inline constexpr DataTypeSet kFloat32And16 = {kFloat32, kFloat16};
inline constexpr DataTypeSet kU32 = {kUint32};
inline constexpr DataTypeSet kFlags = {kUint32, kUint8};
inline constexpr DataTypeSet kUnsigned4 = {kUint64, kUint32, kUint16, kUint8};
inline constexpr DataTypeSet kUnsigned3 = {kUint32, kUint16, kUint8};
inline constexpr DataTypeSet kWide4 = {kFloat32, kFloat16, kInt32, kUint32};
inline constexpr DataTypeSet kWide6 = {kFloat32, kFloat16, kInt64, kInt32, kUint64, kUint32};
inline constexpr DataTypeSet kSigned5 = {kFloat32, kFloat16, kInt32, kInt16, kInt8};
inline constexpr DataTypeSet kSigned6 = kSigned5 | DataTypeSet{kInt64};
inline constexpr DataTypeSet kNumeric8 = {kFloat32, kFloat16, kInt32,  kInt16,
                                          kInt8,    kUint32,  kUint16, kUint8};
inline constexpr DataTypeSet kNumeric10 = kNumeric8 | DataTypeSet{kInt64, kUint64};
inline constexpr DataTypeSet kAll11 = kNumeric10 | DataTypeSet{kFloat64};

#define OPSERVE_STRIP(...) __VA_ARGS__
// All operators; entry i has OpId i.
inline constexpr OpTraits kRows[] = {
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE) \
  OpTraits{.id = OpId::NAME,                                         \
           .family = OpFamily::OPSERVE_FAMILY,                       \
           .name = #NAME,                                            \
           .shape = op_shapes::k##SHAPE,                             \
           OPSERVE_STRIP TRAITS},
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
};
#undef OPSERVE_STRIP

inline constexpr size_t kRowCount = std::size(kRows);

// Most modes that an operator has.
inline constexpr int kMaxModes = 4;

}  // namespace opserve::op_rows

#endif  // OPSERVE_KERNELS_OP_ROWS_H_
