// File: kernels/cpu/cells.h
//
// Which (operator, type, mode) cells the kernel units instantiate. Internal to kernels/cpu.

#ifndef OPSERVE_KERNELS_CPU_CELLS_H_
#define OPSERVE_KERNELS_CPU_CELLS_H_

#include <array>
#include <cstdint>

#include "hwy/base.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/op_rows.h"

namespace opserve::cpu {

// The kernels of an operator for one type, by mode, and those of all operators, by OpId.
using ModeKernels = std::array<FlatKernel, op_rows::kMaxModes>;
using KernelsOfType = std::array<ModeKernels, op_rows::kRowCount>;

// Finds a cell of one unit, for the best target; nullptr if it is not there.
FlatKernel LookupFloat(OpId op, DataType lane, int mode);
FlatKernel LookupHalf(OpId op, DataType lane, int mode);
FlatKernel LookupSmallInt(OpId op, DataType lane, int mode);
FlatKernel LookupWideInt(OpId op, DataType lane, int mode);

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

// Whether a kernel is instantiated for the cell.
constexpr bool HasCell(OpId op, DataType lane, int mode) {
  const OpTraits& row = op_rows::kRows[static_cast<size_t>(op)];
  if (mode >= row.mode_count()) return false;
  const DataTypeSet types = row.lane_types();
  if (!row.shape.moves_bits) return types.contains(lane);
  if (lane != UnsignedOfSameSize(lane)) return false;
  for (DataType type : kAllDataTypes) {
    if (types.contains(type) && UnsignedOfSameSize(type) == lane) return true;
  }
  return false;
}

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_CELLS_H_
