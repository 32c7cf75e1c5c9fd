// File: kernels/cpu/cells.h
//
// Which (operator, type, mode) cells the kernel units instantiate. Internal to kernels/cpu.

#ifndef OPSERVE_KERNELS_CPU_CELLS_H_
#define OPSERVE_KERNELS_CPU_CELLS_H_

#include <array>
#include <cstdint>
#include <span>

#include "hwy/base.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/op_rows.h"

namespace opserve::cpu {

// Whether a variant is of the second kind for its type: flags and counts that are UINT32, or
// integers computed with numbers that are none where kernels tell.
constexpr bool IsAlternative(const OpTraits& op, const KernelVariant& variant) {
  if (op.shape.result != OpResult::kValue) return variant.output == DataType::kUint32;
  return op.shape.tells_integers && IsFloat(variant.number) && !IsFloat(variant.lane);
}

// The kernels of an operator for one type, by mode: alternatives behind all others.
struct RowKernels {
  OpId op = {};
  std::array<FlatKernel, 2 * op_rows::kMaxModes> kernels = {};
};

// The kernel of `op`, if it is among the rows; else nullptr.
FlatKernel FindInRows(std::span<const RowKernels> rows, OpId op, const KernelVariant& variant);

// The units: a family of operators for a group of element types each. kernels/cpu/CMakeLists.txt
// makes their sources.
#define OPSERVE_UNITS_OF_FAMILY(UNIT, FAMILY) \
  UNIT(FAMILY, Float) UNIT(FAMILY, Half) UNIT(FAMILY, SmallInt) UNIT(FAMILY, WideInt)
#define OPSERVE_ALL_UNITS(UNIT)             \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Moves)      \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Logic)      \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Selection)  \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Rounding)   \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Arithmetic) \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Elementary) \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Activation) \
  OPSERVE_UNITS_OF_FAMILY(UNIT, Quantization)

// Each finds a cell of its unit, for the best target; nullptr if it is not there.
#define OPSERVE_UNIT_LOOKUP(FAMILY, GROUP) \
  FlatKernel Lookup##FAMILY##GROUP(OpId op, const KernelVariant& variant);
OPSERVE_ALL_UNITS(OPSERVE_UNIT_LOOKUP)
#undef OPSERVE_UNIT_LOOKUP

// The element type that a C++ type stands for.
template <class T>
inline constexpr DataType kLaneType = DataType::kUnknown;
template <>
inline constexpr DataType kLaneType<float> = DataType::kFloat32;
template <>
inline constexpr DataType kLaneType<double> = DataType::kFloat64;
template <>
inline constexpr DataType kLaneType<hwy::float16_t> = DataType::kFloat16;
template <>
inline constexpr DataType kLaneType<int8_t> = DataType::kInt8;
template <>
inline constexpr DataType kLaneType<int16_t> = DataType::kInt16;
template <>
inline constexpr DataType kLaneType<int32_t> = DataType::kInt32;
template <>
inline constexpr DataType kLaneType<int64_t> = DataType::kInt64;
template <>
inline constexpr DataType kLaneType<uint8_t> = DataType::kUint8;
template <>
inline constexpr DataType kLaneType<uint16_t> = DataType::kUint16;
template <>
inline constexpr DataType kLaneType<uint32_t> = DataType::kUint32;
template <>
inline constexpr DataType kLaneType<uint64_t> = DataType::kUint64;

// Whether a kernel is instantiated for the cell: bitwise ones only for unsigned integers.
constexpr bool HasCell(OpId op, DataType lane, bool is_alternative, int mode) {
  const OpTraits& row = op_rows::kRows[static_cast<size_t>(op)];
  if (mode >= row.mode_count()) return false;
  if (row.shape.is_bitwise && lane != UnsignedOfSameSize(lane)) return false;
  const bool has_flag = row.shape.result != OpResult::kValue;
  if (has_flag &&
      !row.OutputTypes(lane).contains(is_alternative ? DataType::kUint32 : DataType::kUint8)) {
    return false;
  }
  if (is_alternative && !has_flag && !(row.shape.tells_integers && !IsFloat(lane))) return false;
  const DataTypeSet types = row.lane_types();
  if (!row.shape.is_bitwise) return types.contains(lane);
  for (DataType type : kAllDataTypes) {
    if (types.contains(type) && UnsignedOfSameSize(type) == lane) return true;
  }
  return false;
}

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_CELLS_H_
