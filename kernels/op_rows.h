// File: kernels/op_rows.h
//
// The rows of kernels/elementwise.def as constants, for code that decides at compile time which
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
inline constexpr DataTypeSet kU8 = {kUint8};
inline constexpr DataTypeSet kFloat32And16 = {kFloat32, kFloat16};
inline constexpr DataTypeSet kNumeric8 = {kFloat32, kFloat16, kInt32,  kInt16,
                                          kInt8,    kUint32,  kUint16, kUint8};
inline constexpr DataTypeSet kNumeric10 = kNumeric8 | DataTypeSet{kInt64, kUint64};
inline constexpr DataTypeSet kAll11 = kNumeric10 | DataTypeSet{kFloat64};

#define OPSERVE_STRIP(...) __VA_ARGS__
// All operators; entry i has OpId i.
inline constexpr OpTraits kRows[] = {
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE) \
  OpTraits{.id = OpId::NAME, .name = #NAME, .shape = op_shapes::k##SHAPE, OPSERVE_STRIP TRAITS},
#include "kernels/elementwise.def"
#undef OPSERVE_OPERATOR
};
#undef OPSERVE_STRIP

inline constexpr size_t kRowCount = std::size(kRows);

// Most modes that an operator has.
inline constexpr int kMaxModes = 4;

}  // namespace opserve::op_rows

#endif  // OPSERVE_KERNELS_OP_ROWS_H_
