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
  OpTraits{.id = OpId::NAME, .name = #NAME, OPSERVE_STRIP TRAITS},
#include "kernels/elementwise.def"
#undef OPSERVE_OPERATOR
};
#undef OPSERVE_STRIP

inline constexpr size_t kRowCount = std::size(kRows);

// Most values that the enum of a kernel's mode has.
inline constexpr int kMaxModes = 4;

// The types of the lane input at any feature level: those that need a kernel.
constexpr DataTypeSet LaneTypes(const OpTraits& op) {
  DataTypeSet types;
  for (const SupportRow& row : op.support) types = types | row.types[op.lane_input];
  return types;
}

// Number of compile-time modes of the kernel: values of the first attribute if it is an enum.
constexpr int ModeCount(const OpTraits& op) {
  const bool has_mode = !op.attributes.empty() && op.attributes[0].kind == AttributeKind::kEnum;
  return has_mode ? static_cast<int>(op.attributes[0].values.size()) : 1;
}

}  // namespace opserve::op_rows

#endif  // OPSERVE_KERNELS_OP_ROWS_H_
